from dsl import RulePack, Source, against, another, require

vessel = Source("vessel", key="mmsi", mmsi=int, crew=int)
other = another(vessel, "other")
port = RulePack("port", subject=vessel)
with port, against(other):
    require(other.crew >= 2)
port.to_text()
