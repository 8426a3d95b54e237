from dsl import RulePack

port = RulePack.from_text(
    """
pack: port
subject: vessel
source vessel by mmsi:
    mmsi: number
    wind velocity: knots
source wind:
    velocity: knots
wind velocity must be at most 9 kn
""",
    file=__file__,
)
