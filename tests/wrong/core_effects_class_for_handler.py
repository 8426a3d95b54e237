from cartesius import Handler, Operation, handle, handles

ask = Operation("ask")


class answering(Handler):
    @handles(ask)
    def answer(self):
        return 42


handle(answering, lambda: ask())
