"""What users write: reactives, patterns over them, and restrictions with their clauses and families of operations.

In reading order: `orders`, `reactives`, `lists`, `patterns`, `absent_slots`, `families`, `annotations`,
`restriction_base`, `meanings`, `clauses`, `matches`, `lenience`, `fingerprints`.
"""
