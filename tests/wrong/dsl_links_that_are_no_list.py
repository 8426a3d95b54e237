"""Links are a list, also if there is none."""

from dsl import RulePack, Source

vessel = Source("vessel", key="mmsi", mmsi=int)
port = RulePack("port", subject=vessel, links=None)
