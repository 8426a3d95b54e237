"""Effects and handlers on coroutines, without streams: operations, who handles them, how a computation waits.

In reading order: `operations`, `handlers`, `evidence`, `resumptions`, `strands`.
"""
