from dsl import RulePack, Source, choice, require

vessel = Source("vessel", key="mmsi", mmsi=int, cargo=choice("gas", "oil"))
port = RulePack("port", subject=vessel)

with port:
    require(vessel.cargo + 1 >= 2)
