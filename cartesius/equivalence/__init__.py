"""The equivalence of two streams, decided online, and what monitors a running program by it.

In reading order: `equalities`, `dependences`, `matching`, `equivalences`, `monitoring`.
"""
