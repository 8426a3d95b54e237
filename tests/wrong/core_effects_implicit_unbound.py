from cartesius import Implicit, Operation, handle, handles, Handler

unit = Implicit("unit")
show = Operation("show")


class showing(Handler):
    performs = (unit,)

    @handles(show)
    def print_with_unit(self, n):
        print(n, unit())


with unit.bound_to("m"):
    handle(showing(), lambda: show(3))
handle(showing(), lambda: show(3))
