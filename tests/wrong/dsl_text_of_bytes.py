"""Rules are read from a text, not from bytes."""

from dsl import RulePack

port = RulePack.from_text(b"pack: port")
