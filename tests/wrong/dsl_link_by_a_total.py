from dsl import RulePack, Source, number_of
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
berth = Source("berth", key="number", number=int)
port = RulePack("port", subject=vessel, links=[berth.number == number_of(vessel)])
