from dsl import Source, choice

vessel = Source("vessel", key="mmsi", mmsi=int)

vessel_type = choice("tanker", "barge", "tanker")
