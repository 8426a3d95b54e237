"""One correlation at work, in the join shape: restrictions installed as layers of handlers around its batch.

In reading order: `join_shape`, `placements`, `installations`, `clause_layers`, `gates`, `continuations`, `floors`,
`runs`, `freed_windows`, `absences`, `refused_choices`, `choices`, `stacks`, `runners`.
"""
