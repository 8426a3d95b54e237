"""The law of everything: in whatever way events come, all tiers give what the reference tier gives when each is pushed.

Programs and traces are drawn, cut into batches and slices at random, and pushed as columns, row by row, or both in
turn, with snapshots in between that are restored into another tier, moves of the clock, and outputs that come and go.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import nullcontext
from unittest import mock

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.batches import slicing
from cartesius.columns.batches.plans import plan
from cartesius.columns.judgements.ageing import Ageing
from cartesius.columns.judgements.rejudging import Rejudging
from cartesius.columns.judgements.row_judging import RowJudging
from cartesius.columns.judgements.sifting import Sifting
from cartesius.columns.results import events_of
from cartesius.columns.stages.stages import Stage
from cartesius.columns.streams.absent_events import NotAfter
from cartesius.columns.streams.bands import Near
from cartesius.columns.streams.parts_in_sequence import Following
from cartesius.columns.tables.collating import Collating
from cartesius.columns.tables.pairing import Pairing
from cartesius.columns.windows.session_totals import SessionTotals
from restrictions import (
    aligning,
    at_most,
    combine_latest,
    earliest,
    key_by,
    most_recently,
    only,
    retracting,
    within,
    zip_,
)
from restrictions.tables import max_, reduce, to_table
from tests.laws.catalogue_tiers import often_by_key
from tests.oracle.tier_programs import FAMILIES, Case, Choices, Row, batch_of, case_of, trace_of

TIERS = ("reference", "in_place", None)
OF_PACKS = {Ageing, Collating, Pairing, Rejudging, RowJudging, Sifting}
"""The kernels of rule packs alone, which have tests of their own: tests/unit/dsl/test_columnar*.py."""
WITH_TESTS = {Following, NotAfter, SessionTotals}
"""Those of sequences and absence are drawn in tests/oracle/test_*_in_columns.py, sessions in test_window_totals.py."""
ran = settings().max_examples
EXAMPLES = settings(max_examples=max(300, ran) if ran >= 60 else ran)


class Run:
    """One engine in one tier."""

    def __init__(self, case, tier):
        self.case, self.tier = case, tier
        self.outputs = list(case.outputs)
        self.engine = Engine(*self.outputs, tier=tier, **case.options)

    def feed(self, rows, *, as_batch, as_value):
        """Push rows; return what is emitted, and the error that ended it."""
        out = []
        try:
            if as_batch and self.tier is None:
                return events_of(self.engine.push_many(batch_of(rows, as_value=as_value))), None
            for row in rows:
                out += self.engine.push(row.reactive, row.pushed, row.at)
        except Exception as error:  # of any kind: the others must raise the same
            return (events_of(vars(error)["emitted"]) if as_batch and self.tier is None else out), error
        return out, None

    def restore(self, blob):
        self.engine = Engine.restore(blob, *self.outputs, tier=self.tier, **self.case.options)


def told(events):
    return [repr(event) for event in events]


class Runs:
    """The same in all tiers, compared after everything."""

    def __init__(self, case):
        self.case = case
        self.runs = [Run(case, tier) for tier in TIERS]
        self.compiled = 0

    def agree(self, found, what):
        first, *others = found
        for tier, other in zip(TIERS[1:], others, strict=True):
            assert other == first, (tier, what)

    def feed(self, rows, **how):
        there = set(self.runs[0].engine.inputs.values())  # fewer, if an output is gone
        rows = [row for row in rows if row.reactive in there]
        with often_by_key() if len(rows) % 2 else nullcontext():
            found = [run.feed(rows, **how) for run in self.runs]
        self.agree([told(events) for events, _ in found], rows)
        self.agree([(type(error), str(error)) for _, error in found], rows)
        compiled = self.runs[-1].engine._compiled
        self.compiled += compiled is not None and compiled.states is not None
        self.agree([[repr(late) for late in run.engine.late] for run in self.runs], "late")
        return found[0][1]

    def each(self, what, call):
        self.agree([call(run) for run in self.runs], what)

    def look(self):
        self.each("stats", lambda run: (run.engine.stats.events, run.engine.stats.tuples))
        self.each("stats", lambda run: run.engine.stats)
        self.each("clock", lambda run: (run.engine.clock, run.engine.next_deadline, run.engine.done))
        for run in self.runs:
            run.engine._check_invariants()

    def query(self):
        for place, output in enumerate(self.runs[0].outputs):
            try:
                self.runs[0].engine.query(output)
            except ValueError:  # it is no table
                continue
            self.each("query", lambda run, place=place: sorted(map(repr, run.engine.query(run.outputs[place]).items())))

    def restore(self, *, swap):
        blobs = [run.engine.snapshot() for run in self.runs]
        for run, blob in zip(self.runs, blobs[swap:] + blobs[:swap], strict=True):
            run.restore(blob)
        self.look()

    def change(self, choices):
        outputs = self.runs[0].outputs
        if len(outputs) > 1:
            gone = choices.of(outputs)
            for run in self.runs:
                run.engine.remove(gone)
                run.outputs.remove(gone)
        else:
            (new,) = [one for one in self.case.outputs if one not in outputs][:1] or [None]
            if new is None:
                return
            self.each("add", lambda run: told(run.engine.add(new)))
            for run in self.runs:
                run.outputs.append(new)

    def end(self):
        self.look()
        self.query()
        self.restore(swap=0)
        self.each("close", lambda run: told(run.engine.close()))
        self.look()


ACTIONS = ["many"] * 6 + ["push", "look", "advance", "restore", "swap", "change", "query"]


def check(case, trace, data):
    choices = Choices(data)
    with mock.patch.object(slicing, "SLICE", choices.of([1, slicing.SLICE, 2, 5])):
        return check_in_slices(case, trace, choices)


def check_in_slices(case, trace, choices):
    runs = Runs(case)
    at = 0
    while at < len(trace):
        action = choices.of(ACTIONS)
        if action in ("many", "push"):
            rows = trace[at : at + choices.of([4, 8, 2, 1, 16, 3])]
            at += len(rows)
            runs.feed(rows, as_batch=action == "many", as_value=choices.rarely())
        elif action == "look":
            runs.look()
        elif action == "advance":
            time = trace[at].at[1] - choices.of([1, 0, 3])
            runs.each("advance", lambda run, time=time: told(run.engine.advance(time)))
        elif action == "change":
            runs.change(choices)
        elif action == "query":
            runs.query()
        else:
            runs.restore(swap=1 if action == "swap" else 0)
        if choices.is_over:
            runs.feed(trace[at:], as_batch=True, as_value=False)
            break
    runs.end()
    return runs.compiled


@pytest.mark.parametrize("family", FAMILIES)
@given(
    program=st.binary(min_size=24, max_size=24),
    rows=st.binary(min_size=20, max_size=100),
    cuts=st.binary(min_size=4, max_size=20),
)
@EXAMPLES
def test_all_tiers_give_what_the_reference_gives_however_events_come(family, program, rows, cuts):
    case = case_of(family, program)
    if case is None:
        return
    compiled = check(case, trace_of(case, rows), cuts)
    event(f"{family}: {'some batches compiled' if compiled else 'row by row'}")


def test_half_of_what_is_drawn_compiles_and_every_kernel_is_among_it():
    """Without this, the law could hold because nothing ever compiles."""
    draw, kinds, compiled = random.Random(7), Counter(), Counter()
    for family in FAMILIES:
        for _ in range(80):
            case = case_of(family, draw.randbytes(24))
            if case is None:
                continue
            found = plan(Engine(*case.outputs, **case.options))
            compiled[family] += bool(found.stages) and not found.written
            kinds.update(map(type, found.stages))
    assert min(compiled.values()) >= 80 * 2 // 5, compiled
    assert sum(compiled.values()) >= 80 * len(FAMILIES) // 2, compiled
    missing = (kernels(Stage) | {Near}) - set(kinds)
    assert missing <= OF_PACKS | WITH_TESTS, missing


def kernels(stage):
    """The stages that are no base of others."""
    inner = [one for kind in stage.__subclasses__() for one in kernels(kind)]
    return set(inner) or {stage}


# ------------------------------------------------------------------------------ what the law has found, each by itself

A, B, C = (Reactive(name) for name in "abc")


@pytest.mark.parametrize(
    ("output", "rows"),
    [
        pytest.param(
            lambda: correlate(a=A, b=B, yields=lambda a, b: (a, b),
                              restrict=only("a", lambda a: a <= 1) | most_recently("a", "b") | aligning("a", "b")),
            [(A, 1), (B, "x"), (A, 5), (B, "y"), (A, 0), (B, "z")],
            id="a filter sees what a gate lets through, whoever came last",
        ),
        pytest.param(
            lambda: correlate(a=A, b=B, where=lambda a, b: a.k == b.k, yields=lambda a, b: (a, b),
                              restrict=aligning("a", "b")),
            [(A, {"k": 0}), (B, {"k": 1}), (A, {"k": 1}), (B, {"k": 0})],
            id="a gate releases rows of different keys",
        ),
        pytest.param(
            lambda: correlate(a=A, yields=lambda a: a.n, restrict=key_by(a="k") | earliest("a") | at_most(2, "a")),
            [(A, {"k": n % 2, "n": n}) for n in range(5)],
            id="one slot has a memory by key",
        ),
        pytest.param(
            lambda: correlate(a=A, b=B, where=lambda a, b: a.k + 1 == b.k, yields=lambda a, b: (a, b),
                              restrict=within(3, "a", "b")),
            [(A, {"k": 1}), (A, {"k": None}), (A, {"k": 2})],
            id="what is equated is computed of an event that nobody is there to meet",
        ),
        pytest.param(
            lambda: correlate(a=A, b=B, where=lambda a, b: a.k + 1 == b.k, yields=lambda a, b: (a, b),
                              restrict=most_recently("a", "b")),
            [(A, {"k": 1}), (A, {"k": None}), (A, {"k": 2})],
            id="likewise of the latest",
        ),
        pytest.param(
            lambda: combine_latest(A, B, zip_(A, B)),
            [(A, 1), (B, 2), (A, 3), (B, 4), (B, 5), (A, 6)],
            id="an event that comes by two ways is one step",
        ),
        pytest.param(
            lambda: combine_latest(A, zip_(B, C)), [(A, 1), (A, 2)], id="nothing comes of what is between",
        ),
        pytest.param(
            lambda: combine_latest(A, correlate(b=B, yields=lambda b: b, restrict=most_recently("b") | retracting())),
            [(A, 1), (B, 2), (B, 3), (A, 4)],
            id="what is taken back goes on",
        ),
        pytest.param(
            lambda: reduce(to_table(A, key="n"), max_.of("k"), by="j"),
            [(A, {"n": n, "k": 1.0, "j": group}) for n, group in enumerate([-0.0, 0.0, 2.0, -0.0])]
            + [(A, {"n": 0, "k": 2.0, "j": 2.0}), (A, {"n": 1, "k": 3.0, "j": 2.0})],
            id="a group keeps the key that it was made with",
        ),
    ],
)  # fmt: skip
def test_what_went_wrong_once(output, rows):
    found = []
    for tier in TIERS:
        pushes = [Row(reactive, value, (at, at)) for at, (reactive, value) in enumerate(rows)]
        run = Run(Case("once", (A, B, C), (output(),)), tier)
        events, error = run.feed(pushes, as_batch=True, as_value=True)
        shown = repr(run.engine.query(run.outputs[0])) if run.outputs[0].table else ""
        found.append((told(events), str(error), run.engine.stats, shown))
    assert found[0] == found[1] == found[2]


def test_a_key_that_is_no_number_meets_nothing_beside_another_equality():
    program = b"\x02\x005" + bytes(9) + b"\x01" + bytes(11)
    case = case_of("joins", program)
    assert case is not None
    rows = trace_of(case, b"\x04" + bytes(11) + b"\x01\x03" + bytes(6))
    found = Engine(*case.outputs).push_many(batch_of(rows, as_value=False))
    assert found.num_rows == 0
