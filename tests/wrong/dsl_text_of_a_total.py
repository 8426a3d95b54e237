from dsl import RulePack, Source, count, require

vessel = Source("vessel", key="mmsi", mmsi=int)
tug = Source("tug", key="id", id=int)
port = RulePack("port", subject=vessel)
with port:
    require(count(tug) >= 2)
port.to_text()
