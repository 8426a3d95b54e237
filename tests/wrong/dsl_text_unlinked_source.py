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
berth depth must be at least 9 m
source berth by id:
    id: text
    depth: metres
""",
    file=__file__,
)
