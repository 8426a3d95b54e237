from dsl import RulePack, Source, named
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
port = RulePack("port", subject=vessel)

with port:
    ukc = named(vessel.draught, "under-keel clearance")
