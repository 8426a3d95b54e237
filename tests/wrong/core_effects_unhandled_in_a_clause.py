from cartesius import Handler, Operation, handle, handles

ask = Operation("ask")


class doubling(Handler):
    @handles(ask)
    def double(self):
        return 2 * ask()  # seen by handlers outside only, of which there is none


handle(doubling(), lambda: ask())
