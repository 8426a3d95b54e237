from dsl import RulePack, Source, choice, require

vessel = Source("vessel", key="mmsi", mmsi=int, vessel_type=choice("tanker", "container", "barge"))
port = RulePack("port", subject=vessel)

with port:
    require(vessel.vessel_type != "tankr")
