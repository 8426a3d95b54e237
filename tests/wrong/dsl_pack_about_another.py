"""A pack judges the subject, not the others."""

from dsl import RulePack, Source, another

vessel = Source("vessel", key="mmsi", mmsi=int)
other = another(vessel, "other")
port = RulePack("port", subject=other)
