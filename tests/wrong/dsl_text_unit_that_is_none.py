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
draught must be at most 3 `metres times two`
""",
    file=__file__,
)
