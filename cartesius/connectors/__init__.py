"""Sources and sinks in process, and what runs a program between them so that a restart neither loses nor repeats.

In reading order: `endpoints` says what a source and a sink are, `row_items` what a message or a line becomes, and
`csv_rows` which lines are one row; `growing_files` and `line_sinks` are files; `kafka`, which users import from, is
topics, and `held_records` puts their partitions into one order; `kept_runs` are checkpoints, a state and the positions
that belong to it, and `stream_runs` feeds an engine.
"""

from .endpoints import StreamSink as StreamSink
from .endpoints import StreamSource as StreamSource
from .growing_files import FileSource as FileSource
from .line_sinks import JsonLinesSink as JsonLinesSink
from .stream_runs import run_stream as run_stream

__all__ = ["FileSource", "JsonLinesSink", "StreamSink", "StreamSource", "run_stream"]
