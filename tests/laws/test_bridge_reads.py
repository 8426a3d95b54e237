"""The law of what is read: a column that a program reads must be there, one that it does not read need not.

Programs are written as text, so that what they read is known from how they were made, and not from what the bridge
finds in them. A column that is compared must be of a type that goes with the other side; one that is only yielded may
be of any type.
"""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius import Reactive, correlate
from cartesius.errors import InvalidArgument
from restrictions import key_by, most_recently, only, tumbling
from restrictions.streams import filter_, interval_join, map_
from restrictions.tables import aggregate, sum_
from tests.laws.spark_model import planned
from tests.oracle.tier_programs import function

EXAMPLES = settings(max_examples=max(50, settings().max_examples * 4))
COLUMNS = tuple(f"c{place}" for place in range(7))


class Reading:
    """A program over two sources, and how it reads each column: ``compared`` is of types that must go together."""

    def __init__(self, draw):
        self.draw = draw
        self.read, self.compared = set(), set()
        self.sources = {name: Reactive(name) for name in ("a", "b")}
        self.output = draw.choice([self.joined, self.in_interval, self.totalled])()

    def column(self, source, *, compared=True):
        name = self.draw.choice(COLUMNS)
        self.read.add((source, name))
        if compared:
            self.compared.add((source, name))
        return name

    def of(self, source):
        """The source itself, or what a filter or a gate lets through."""
        name = self.column(source) if self.draw.random() < 0.4 else ""
        return filter_(self.sources[source], function(f"row.{name} > 2", ["row"])) if name else self.sources[source]

    def joined(self):
        conditions = [f"a.{self.column('a')} {self.draw.choice(['==', '<', '!='])} b.{self.column('b')}"]
        if self.draw.random() < 0.5:
            conditions.append(f"a.{self.column('a')} - b.{self.column('b')} > 3")
        if self.draw.random() < 0.3:
            conditions.append(f"~(b.{self.column('b')} >= 5)")
        restrict: Any = most_recently("a", "b")
        if self.draw.random() < 0.5:
            restrict = key_by(a=self.column("a"), b=function(f"row.{self.column('b')}", ["row"])) | restrict
        if self.draw.random() < 0.5:
            restrict = only("a", function(f"row.{self.column('a')} == 1", ["row"])) | restrict
        yields = f"{{'x': a.{self.column('a', compared=False)}, 'y': b.{self.column('b', compared=False)}}}"
        where = function(" & ".join(f"({one})" for one in conditions), ["a", "b"])
        out = correlate(
            a=self.of("a"),
            b=self.of("b"),
            where=where,
            yields=function(yields, ["a", "b"]),
            restrict=restrict,
            name="j",
        )
        return map_(out, function("{'z': row.x, 'w': row.y}", ["row"])) if self.draw.random() < 0.5 else out

    def in_interval(self):
        key = self.column("a")
        self.read.add(("b", key))
        self.compared.add(("b", key))
        out = interval_join(self.of("a"), self.of("b"), -5, 5, key=key)
        return map_(out, function(f"{{'z': row[0].{self.column('a', compared=False)}}}", ["row"]))

    def totalled(self):
        by = self.column("a", compared=False)
        total = self.column("a", compared=False)
        return aggregate(self.of("a"), sum_.of(total), by=by, restrict=tumbling(9))

    def plan(self, **changes):
        """What the bridge says of frames in which a column is of another type, or not there."""
        frames = {}
        for source in {one.name for one in self.used()}:
            kinds = {name: changes.get(f"{source}_{name}", t.LongType()) for name in COLUMNS}
            columns = [t.StructField(name, kind) for name, kind in kinds.items() if kind is not None]
            frames[source] = t.StructType([t.StructField("at", t.TimestampType()), *columns])
        schema = t.StructType([t.StructField("value", t.LongType())]) if self.output.table else None
        return planned(self.output, frames, is_streaming=False, buckets=1, schema=schema)

    def used(self):
        found, waiting = [], [self.output]
        while waiting:
            one = waiting.pop()
            found += [one] if one.pattern is None else []
            waiting += [] if one.pattern is None else one.pattern.slots.values()
        return found


@given(seed=st.integers(0, 2**32), place=st.integers(0, 2 * len(COLUMNS) - 1))
@EXAMPLES
def test_a_column_may_be_missing_just_if_it_is_not_read(seed, place):
    program = Reading(random.Random(seed))
    source, column = "ab"[place % 2], COLUMNS[place // 2]
    program.plan()
    if (source, column) not in program.read:
        event("not read")
        program.plan(**{f"{source}_{column}": None})
        return
    event("read")
    with pytest.raises(InvalidArgument, match=f"the frame of '{source}' to have the column '{column}'"):
        program.plan(**{f"{source}_{column}": None})


@given(seed=st.integers(0, 2**32), place=st.integers(0, 2 * len(COLUMNS) - 1))
@EXAMPLES
def test_a_column_may_be_of_another_type_just_if_it_is_not_compared(seed, place):
    program = Reading(random.Random(seed))
    source, column = "ab"[place % 2], COLUMNS[place // 2]
    changes = {f"{source}_{column}": t.StringType()}
    if (source, column) not in program.compared:
        event("not compared")
        program.plan(**changes)
        return
    event("compared")
    with pytest.raises(InvalidArgument, match=re.escape(f"the column '{column}' of '{source}' (string)")):
        program.plan(**changes)
