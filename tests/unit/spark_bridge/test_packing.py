"""Packing: rows that Spark sends come out of their chunks as they went in, also such as pyarrow stumbles over."""

from __future__ import annotations

import subprocess
import sys

from tests.brokers.servers import ROOT

HOLLOW = """
import numpy as np
import pyarrow as pa
from pyspark.sql import types as t
from spark_bridge.transport.packing import chunk_schema, packer, unpacked

NOWHERE = pa.foreign_buffer(4096, 0)  # who reads a byte of it is killed


def numbers(kind, n, buckets):
    return pa.array(np.arange(n, dtype=kind) % buckets)


def hollow(kind, n):
    # n empty values of a type; of what is in a list there are none, and so, with Spark 4.0, no offsets either
    offsets = pa.py_buffer(bytes(4 * (n + 1))) if n else NOWHERE
    if pa.types.is_list(kind):
        return pa.Array.from_buffers(kind, n, [None, offsets], children=[hollow(kind.value_type, 0)])
    if pa.types.is_map(kind):
        inside = hollow(pa.struct([kind.key_field, kind.item_field]), 0)
        return pa.Array.from_buffers(kind, n, [None, offsets], children=[inside])
    if pa.types.is_struct(kind):
        return pa.Array.from_buffers(kind, n, [None], children=[hollow(field.type, n) for field in kind])
    if pa.types.is_string(kind):
        return pa.Array.from_buffers(kind, n, [None, offsets, NOWHERE])
    return pa.Array.from_buffers(kind, n, [None, NOWHERE])


text, texts = t.StringType(), t.ArrayType(t.StringType())
kinds = [
    texts, t.MapType(text, t.LongType()), t.ArrayType(texts), t.ArrayType(t.ArrayType(t.ArrayType(t.LongType()))),
    t.MapType(text, texts), t.ArrayType(t.MapType(text, text)), t.StructType().add("a", t.ArrayType(texts)),
    t.ArrayType(t.StructType().add("a", texts)),
]
schema = t.StructType([t.StructField(f"x{place}", kind) for place, kind in enumerate(kinds)])
target = chunk_schema(schema)
for buckets in (1, 2):
    rows = 3
    columns = [hollow(field.type, rows) for field in target if field.name.startswith("x")]
    helpers = [numbers(np.int64, rows, rows), numbers(np.int64, rows, rows), pa.nulls(rows, pa.string())]
    arrays = [*columns, *helpers, numbers(np.int32, rows, buckets)]
    batch = pa.RecordBatch.from_arrays(arrays, names=[*target.names[3:], *target.names[:3], "bucket"])
    for sent in ([batch], [batch, batch]):
        found = [out for each in packer(schema)(iter(sent)) for out in each.to_pylist()]
        assert [each["bucket"] for each in found] == list(range(buckets)), found
        back = unpacked([each["chunk"] for each in found], target)
        assert sorted(back["time"].to_pylist()) == sorted([*range(rows)] * len(sent))
        for place, column in enumerate(back.columns[3:]):
            empty = {"a": []} if place == 6 else []
            assert column.to_pylist() == [empty] * rows * len(sent), (place, column)
print("all rows are there")
"""


def test_lists_that_are_all_empty_kill_no_worker():
    """In a process of its own, which a mistake would kill."""
    done = subprocess.run([sys.executable, "-c", HOLLOW], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("all rows are there\n", 0), done.stderr
