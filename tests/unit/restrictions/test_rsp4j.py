"""What RSP4J's and Polyflow4J's components are here (SOURCES D1): docs/reference/rsp4j.md links to these tests.

The library does not look into what it carries: relations may be tables, graphs, or sets of triples.
"""

from __future__ import annotations

import json
import zlib

from cartesius import Engine, Reactive, Update, Window, correlate, run
from restrictions import cartesian, fixed, retracting, sliding, tumbling
from restrictions.tables import aggregate, count, filter_table, sum_, to_table
from restrictions.windows import accumulated, dstream, filtered, first, istream, keeping, last, on_close, rstream

LEVEL, LEFT, RIGHT = Reactive("level"), Reactive("left"), Reactive("right")


def values(events):
    return [event.value for event in events]


def test_one_event_that_closes_three_windows_gives_three_results():
    counts = aggregate(LEVEL, count, restrict=sliding(6, 2, report=on_close))
    engine = Engine(counts, lateness=0)
    assert engine.push(LEVEL, "a", at=5) == []
    assert values(engine.push(LEVEL, "b", at=20)) == [
        Update(Window(0, 6), 1), Update(Window(2, 8), 1), Update(Window(4, 10), 1)
    ]  # fmt: skip


def test_the_blueprint_and_its_windows_t0_is_the_first_that_opens():
    seen = correlate(x=LEVEL, yields=lambda x, window: tuple(window), restrict=sliding(10, 4, t0=3))
    assert values(run(seen, [(LEVEL, "a", 2), (LEVEL, "b", 8)])) == [(3, 13), (7, 17)]


def test_a_pull_leaves_the_push_side_as_it_was():
    totals = aggregate(LEVEL, sum_, restrict=tumbling(10, lateness=5))
    asked, unasked = Engine(totals), Engine(totals)
    for value, at in ((1, 1), (2, 12), (3, 4)):
        assert asked.push(LEVEL, value, at=at) == unasked.push(LEVEL, value, at=at)
        assert asked.query(totals, at=at) == asked.query(totals, at=at)
        assert asked.snapshot() == unasked.snapshot()


def test_a_view_over_a_view():
    ships = to_table(Reactive("report"), key="name")
    deep = filter_table(ships, lambda ship: ship.draught > 10)
    large = filter_table(deep, lambda ship: ship.length > 300)
    engine = Engine(large, deep)
    (report,) = engine.inputs.values()
    for name, draught, length in (("EVA", 12, 250), ("BO", 15, 399), ("ORCA", 9, 400)):
        engine.push(report, {"name": name, "draught": draught, "length": length})
    assert set(engine.query(large)) == {"BO"}
    assert set(engine.query(deep)) == {"EVA", "BO"}


def test_a_content_that_stores_compressed_elements():
    """I → W → R: JSON is packed as it comes, what is kept are bytes, and the variable is bound to what they say."""

    def add(packed, text):
        lines = [*unpack(packed), json.loads(text)]
        return zlib.compress(json.dumps(lines).encode())

    def unpack(packed):
        return json.loads(zlib.decompress(packed)) if packed else []

    seen = correlate(
        lines=LEFT,
        asked=RIGHT,
        where=lambda lines, asked: lines[0]["n"] == asked,
        yields=lambda lines: [line["n"] for line in lines],
        restrict=tumbling(10, content=accumulated(b"", add, show=lambda kept: unpack(kept) if kept else kept)),
    )
    engine = Engine(seen)
    engine.push(LEFT, '{"n": 1}', at=1)
    engine.push(LEFT, '{"n": 2}', at=2)
    (kept,) = [entry.value for entry in engine._program.joins[0].slots[0].memory.all()]
    assert isinstance(kept, bytes)


def test_the_four_contents_and_one_of_ones_own():
    trace = [(LEVEL, 3, 1), (LEVEL, 5, 2), (LEVEL, 4, 3), (LEVEL, 9, 11)]

    def kept(content):
        windows = tumbling(10, report=on_close, content=content)
        seen = correlate(x=LEVEL, yields=lambda x: x, restrict=windows | retracting() | rstream())
        return values(run(seen, trace, close=True))

    assert kept(None) == [4, 5, 3, 9]
    assert kept(first(2)) == [5, 3, 9]
    assert kept(last()) == [4, 9]
    assert kept(filtered(lambda n: n > 3)) == [4, 5, 9]
    assert kept(keeping(lambda events: sorted(events, key=lambda event: event.value)[-1:])) == [5, 9]


def test_a_relation_that_is_a_set_of_triples_with_its_own_join():
    """A window holds a graph; the body joins two patterns of it, as SPARQL does. Nothing else knows of triples."""

    def union(graph, triples):
        return graph | frozenset(map(tuple, triples))

    @correlate(graph=LEVEL, restrict=tumbling(10, report=on_close, content=accumulated(frozenset(), union)))
    def colleagues(graph, *, window):
        works = {(s, o) for s, p, o in graph if p == "works at"}
        yield window.start, sorted((a, b) for a, at in works for b, other in works if at == other and a < b)

    trace = [
        (LEVEL, [("EVA", "works at", "A")], 1),
        (LEVEL, [("BO", "works at", "A"), ("BO", "is", "tug")], 4),
        (LEVEL, [("ORCA", "works at", "A")], 12),
    ]
    found = values(run(colleagues, trace, close=True))
    assert found[-2:] == [(0, [("BO", "EVA")]), (10, [])]


def test_relation_to_stream():
    trace = [(LEVEL, "a", 3), (LEVEL, "b", 7), (LEVEL, "b", 8), (LEVEL, "c", 12)]

    def given(kind):
        seen = correlate(x=LEVEL, yields=lambda x: x, restrict=sliding(10, 5, report=on_close) | kind)
        return values(run(seen, trace, close=True))

    # evaluated: [-5, 5): a; [0, 10): a b b; [5, 15): b b c; [10, 20): c
    assert sorted(given(rstream())) == sorted("a" + "abb" + "bbc" + "c")
    assert sorted(given(istream())) == sorted("a" + "bb" + "c")
    assert sorted(given(dstream())) == sorted("a" + "bb")


def test_several_windows_of_one_program_and_several_programs():
    """A task has windows of its own; an engine has many tasks, each fed with what concerns it."""
    slow = aggregate(LEVEL, count, restrict=tumbling(20))
    fast = aggregate(LEVEL, count, restrict=tumbling(5))
    both = cartesian(LEFT, RIGHT, restrict=fixed(0, 100))
    engine = Engine(slow, fast, both)
    engine.push(LEVEL, "a", at=1)
    assert [event.reactive for event in engine.push(LEVEL, "b", at=7)] == ["aggregate(level)", "aggregate(level)#2"]
    assert engine.query(slow) == {Window(0, 20): 2}
    assert engine.query(fast) == {Window(0, 5): 1, Window(5, 10): 1}
