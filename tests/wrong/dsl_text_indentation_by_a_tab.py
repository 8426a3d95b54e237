from dsl import RulePack

port = RulePack.from_text(
    """
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
when has pilot:
	draught must be below 3 m
    length must be below 9 m
""",
    file=__file__,
)
