from dsl import RulePack

port = RulePack.from_text(
    r"""
pack: port
subject: vessel
source vessel by mmsi:
    mmsi: number
    draught: metres
    length: metres
    vessel type: one of "tanker", "container"
    has pilot: yes or no
    gust: knots, optional
source wind:
    velocity: knots
vessel type must be "tan\qker"
""",
    file=__file__,
)
