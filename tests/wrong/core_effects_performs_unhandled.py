from cartesius import Handler, Operation, handle, handles

ask = Operation("ask")
tell = Operation("tell")


class answering(Handler):
    @handles(ask)
    def answer(self):
        return 42


class telling(Handler):
    performs = (ask,)

    @handles(tell)
    def tell_twice(self, words):
        return [words, ask()] * 2


handle(telling() | answering(), lambda: tell("the answer is"))  # telling is outside: answering() | telling()
