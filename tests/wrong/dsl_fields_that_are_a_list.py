"""Fields are given by name, each with its unit or type."""

from dsl import Source

vessel = Source("vessel", key=None, fields=["name"])
