from dsl import RulePack, Source, choice, require

vessel = Source("vessel", key="mmsi", mmsi=int, vessel_type=choice("tanker", "container", "barge"))
port = RulePack("port", subject=vessel)

berth = Source("berth", key=None, side=choice("north", "south"))

with port:
    require(vessel.vessel_type != berth.side)
