"""One step of one correlation: what is bound, what comes and goes in the memories, and the results that follow.

In reading order: `floored_deadlines`, `deadlines`, `world`, `null_keys`, `bindings`, `bodies`,
`relative_batches`, `partial_batches`, `window_batches`, `version_batches`, `batches`.
"""
