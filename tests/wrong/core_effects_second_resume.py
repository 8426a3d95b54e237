from cartesius import Handler, Operation, controls, handle

choose = Operation("choose")


class trying_all(Handler):
    @controls(choose)
    def each(self, choices, resume):
        return [resume(choice) for choice in choices]


handle(trying_all(), lambda: choose("ab").upper())
