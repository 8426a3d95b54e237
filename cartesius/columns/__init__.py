"""The compiled tier: batches of columns through kernels over numpy and Arrow.

Rooms, each standing on those before it:

- `vectors`: many values of one type; `stages`: one correlation over columns; `bodies`: functions of rows as code
- `groups`: sums and extremes of many groups; `lifetimes`: from which step to which a row is there, and what it meets
- kernels, by what they compute: `streams`, `loops`, `windows`, `tables`, `judgements`
- `results`: what a batch gives, in Arrow; `batches`: a batch from the door to the kernels, or row by row
- `exchange`: frames of other libraries in and out

Imported when `Engine.push_many`, or `run_frames`, is first called; nothing else of `cartesius` knows numpy or Arrow.

Source: DESIGN 4.
"""
