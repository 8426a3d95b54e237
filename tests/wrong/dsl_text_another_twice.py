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
source tug is another vessel
""",
    file=__file__,
)
