"""The picture of a running program: a recorded trace, made again step by step on one page.

In reading order: `recordings`, `rebuilding`, `show_steps`, `replays`, `differences`, `marble_lanes`,
`show_answers`, `showing`, `program_files`. `Engine.show` and ``python -m cartesius show`` call it.
"""
