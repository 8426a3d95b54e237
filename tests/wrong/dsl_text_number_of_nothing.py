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
number of tugs must be at least 2
""",
    file=__file__,
)
