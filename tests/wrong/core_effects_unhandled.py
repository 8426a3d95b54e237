from cartesius import Handler, Operation, handle, handles

ask = Operation("ask")
tell = Operation("tell")


class answering(Handler):
    @handles(ask)
    def answer(self):
        return 42


handle(answering(), lambda: tell("the answer is", ask()))
