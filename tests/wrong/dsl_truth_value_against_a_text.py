from dsl import RulePack, Source, require

vessel = Source("vessel", key="mmsi", mmsi=int, has_pilot=bool)
port = RulePack("port", subject=vessel)

with port:
    require(vessel.has_pilot == "yes")
