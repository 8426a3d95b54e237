from dsl import RulePack

port = RulePack.from_text(
    """
pack: port
source vessel by mmsi:
    mmsi: number
""",
    file=__file__,
)
