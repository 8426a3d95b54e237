from dsl import RulePack

port = RulePack.from_text(
    """
pack: port
subject: vessel
source vessel by mmsi:
    mmsi: number
    draught: metres
    eta: instant
source wind:
    velocity: knots
source tug by id:
    id: number
    pull: t
define x1: draught + draught
define x2: x1 + x1
define x3: x2 + x2
define x4: x3 + x3
define x5: x4 + x4
define x6: x5 + x5
define x7: x6 + x6
define x8: x7 + x7
define x9: x8 + x8
define x10: x9 + x9
define x11: x10 + x10
define x12: x11 + x11
define x13: x12 + x12
""",
    file=__file__,
)
