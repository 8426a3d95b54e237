"""Snapshots that somebody has changed, with the checksum made right again: an engine that works, or one kind of error.

Whoever changes one number for another gets another state, which no checksum tells from a state that was reached. So the
law is: what `Engine.restore` returns is an engine, whose own snapshot gives an equal one; else it raises a
`CartesiusError`, soon, and in little memory.
"""

from __future__ import annotations

import json
import random
import resource
import zlib
from typing import Any

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.data.codec import MAGIC
from cartesius.errors import CartesiusError
from tests.oracle.tier_programs import FAMILIES, case_of, trace_of

ran = settings().max_examples
EXAMPLES = settings(max_examples=ran * 3)
ODD = (
    None, True, -1, 0, 1, 2**70, 1.5, "", "x", "\u00e9\udc80", [], ["t"], ["l", 1], ["d"], ["d", 1, 2], ["i", "0x1"],
    ["f", "inf"], ["f", "nan"], ["b", "~"], ["D", "1E+999999"], ["D", "sNaN"], ["T", "2020-01-01T00:00:00", 0, None],
    ["z", "../x"], ["p", 1, 2, 3], ["p", 10**9, 0, 0], ["u", "0"], ["E", "os:system", "x"], ["O", "os:system"],
    ["N", "builtins:eval", "1"], ["R", "k", 1], ["q"], ["s", ["l"]], ["?"], {"a": 1},
)  # fmt: skip


def sealed(text: bytes) -> bytes:
    packed = zlib.compress(text, 1)
    return MAGIC + zlib.crc32(packed).to_bytes(4, "big") + packed


def places(value: object) -> list[tuple[list[object], int]]:
    """Return where something stands in nested lists."""
    found, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            found += [(one, n) for n in range(len(one))]
            waiting += one
    return found


def change(value: list[Any], chance: random.Random) -> None:
    """Change something somewhere."""
    there: Any
    there, n = chance.choice(places(value))
    other, m = chance.choice(places(value))
    way = chance.randrange(6)
    if way == 0:
        there[n] = chance.choice(ODD)
    elif way == 1:
        del there[n]
    elif way == 2:
        there.insert(n, chance.choice(ODD))
    elif way == 3:
        there[n], other[m] = json.loads(json.dumps(other[m])), json.loads(json.dumps(there[n]))
    elif way == 4:
        there.insert(n, json.loads(json.dumps(there[n])))
    elif isinstance(there[n], int):
        there[n] = chance.choice((there[n] + 1, -there[n], there[n] * 1000, str(there[n]), float(there[n] % 9)))


@given(
    family=st.sampled_from(sorted(FAMILIES)),
    program=st.binary(max_size=14),
    rows=st.binary(max_size=44),
    seed=st.integers(0, 2**32),
)
@EXAMPLES
def test_a_changed_snapshot_gives_an_engine_or_an_error_of_ours(family, program, rows, seed):
    case = case_of(family, program)
    assume(case is not None)
    assert case is not None
    chance = random.Random(seed)
    engine = Engine(*case.outputs, **case.options)
    for row in trace_of(case, rows):
        try:
            engine.push(row.reactive, row.pushed, row.at)
        except Exception:  # of a body: that is for other tests
            continue
    text = zlib.decompress(engine.snapshot()[len(MAGIC) + 4 :])
    if chance.random() < 0.2:
        changed = bytearray(text)
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        blob = sealed(bytes(changed))
    else:
        value = json.loads(text)
        for _ in range(chance.randrange(1, 4)):
            change(value, chance)
        blob = sealed(json.dumps(value).encode())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        restored = Engine.restore(blob, *case.outputs, **case.options)
        again = restored.snapshot()
        assert Engine.restore(again, *case.outputs, **case.options).snapshot() == again
        event("an engine")
    except CartesiusError as error:
        event(type(error).__name__)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
