from dsl import RulePack, Source, position, require

vessel = Source("vessel", key="mmsi", mmsi=int, position=position)
port = RulePack("port", subject=vessel)

with port:
    require(vessel.position != "the fairway")
