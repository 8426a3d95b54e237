from dsl import RulePack, Source, between, choice, require

vessel = Source("vessel", key="mmsi", mmsi=int, vessel_type=choice("tanker", "container", "barge"))
port = RulePack("port", subject=vessel)

with port:
    require(between(vessel.vessel_type, "barge", "tanker"))
