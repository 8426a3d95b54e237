from cartesius import Handler, Operation, handles

ask = Operation("ask")


class answering(Handler):
    @handles(ask)
    def returns(self):
        return 42
