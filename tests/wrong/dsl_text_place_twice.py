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
places gauge:
    "a": 51, 4
    "a": 52, 4
""",
    file=__file__,
)
