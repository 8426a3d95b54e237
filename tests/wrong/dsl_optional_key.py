from dsl import Source, optional

vessel = Source("vessel", key="mmsi", mmsi=optional(int))
