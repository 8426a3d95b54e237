"""Rules change in a running query as if the new ones had been there from the beginning, in any cuts and buckets."""

from __future__ import annotations

import random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius import Engine
from spark_bridge.transport.packing import BEFORE_ALL
from tests.laws.spark_model import Frame, MicroBatches, Row, planned
from tests.unit.dsl.test_running_rules import HEAD, RULES, S, meaning, pack, row

LONG, DOUBLE, TEXT, AT = t.LongType(), t.DoubleType(), t.StringType(), t.StructField("at", t.TimestampType())
COLUMNS: dict[str, dict[str, t.DataType]] = {
    "vessel": {"mmsi": LONG, "draught": DOUBLE, "length": DOUBLE, "destination": TEXT, "eta": LONG},
    "berth": {"id": TEXT, "depth": DOUBLE},
    "tide": {"height": DOUBLE},
    "wind": {"issued": LONG, "start": LONG, "end": LONG, "speed": DOUBLE},
}
SCHEMAS = {
    name: t.StructType([AT, *(t.StructField(field, kind) for field, kind in columns.items())])
    for name, columns in COLUMNS.items()
}
CHANGES = Frame(t.StructType([AT, t.StructField("who", TEXT), t.StructField("text", TEXT)]))
DELAY = 2_000  # milliseconds
START = 1_000 * S
REFUSED = {
    HEAD + "draught must\n": "but got the end of the line",
    HEAD.replace("draught: metres", "draught: feet") + RULES[1]: "it declares 'vessel' otherwise",
    HEAD.replace("pack: port", "pack: quay") + RULES[1]: "the outputs were 'port' and are 'quay'",
    HEAD + "eta - now must be at most 5 s\n": "right=Now()",
}


def plan_of(text, buckets):
    return planned(
        pack().from_text(text).live(),
        SCHEMAS,
        is_streaming=True,
        buckets=buckets,
        watermark=f"{DELAY} milliseconds",
        unbounded=True,
        changes=CHANGES,
    )


def text_of(draw):
    return HEAD + "".join(RULES[n] for n in sorted(draw.sample(range(len(RULES)), draw.randint(0, 4))))


def version_of(text):
    return pack().from_text(text).version


def change(place, text):
    return Row("changes", BEFORE_ALL, {"at": place, "text": text}, BEFORE_ALL)


def afresh(text, history, clock):
    """The verdicts of an engine that had these rules all the time."""
    found = pack().from_text(text)
    engine = Engine(found.over(pack().kept).table(), lateness=0)
    order = {name: place for place, name in enumerate(SCHEMAS)}
    for one in sorted(history, key=lambda one: (one.at, order[one.source], [*one.columns.values()])):
        if clock is None or one.at < clock:
            engine.push(engine.inputs[one.source], dict(one.columns), at=one.at)
    if clock is not None:
        engine.advance(clock)
    return {key: meaning(one)[1:] for key, one in engine.query(engine.outputs[0]).items()}


def told(value):
    because = value["because"]
    failed = sorted((one["name"], one["text"], str(one["location"])) for one in because if not one["missing"])
    missing = sorted({name for one in because for name in one["missing"]})
    return value["status"], failed, missing


@pytest.mark.parametrize("buckets", [1, 2, 7])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=max(3, settings().max_examples // 16))
def test_changing_in_any_micro_batch_is_starting_afresh(buckets, seed):
    draw = random.Random(seed)
    first = in_force = text_of(draw)
    model = MicroBatches(plan_of(first, buckets), draw, DELAY)
    shown, history, refused, moment = {}, [], [], 0
    for batch in range(draw.randint(1, 7)):
        coming, clock = [], model.clock
        for _ in range(draw.randint(0, 6)):
            moment += draw.randrange(3)
            source = draw.choice(["vessel", "vessel", *SCHEMAS])
            at = START + moment * S
            coming.append(Row(source, at, row(source, draw.randint(1, 4), draw.randint(1, 12), at)))
        history += coming
        versions = set()
        for place in range(draw.choice([0, 1, 1, 2])):
            text = draw.choice([text_of(draw), text_of(draw), text_of(draw), draw.choice([*REFUSED])])
            coming.append(change(batch * 10 + place, text))
            if text in REFUSED:
                refused.append(REFUSED[text])
            else:
                in_force = text
                versions.add(version_of(text))
        if draw.random() < 0.3:
            model.restart(plan_of(first, buckets))
        seen, letters = len(model.results), len(model.letters)
        model.run(coming)
        for result in model.results[seen:]:
            assert result["value"]["pack"] in (versions or {version_of(in_force)})
            shown[result["key"]] = told(result["value"]) if result["value"] else None
        event(f"{len(versions)} changes, {len(model.letters) - letters} refused, {len(model.results) - seen} results")
        assert shown == afresh(in_force, history if clock else [], clock)
    assert len(model.letters) == len(refused)  # told once, however many buckets there are
    for letter, why in zip(model.letters, refused, strict=True):
        assert (letter["kind"], letter["source"]) == ("dead", "changes")
        assert why in letter["reason"]
