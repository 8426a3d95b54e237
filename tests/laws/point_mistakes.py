"""What went wrong once beside the results of programs (issue 18, B), planted anew: the tests that show it must fail.

A plugin of pytest, for a process of its own (`test_point_mistakes.py`): it plants what the environment's
`PLANTED` names, once all modules are there. What is wrong with results of programs is among the mistakes that the
catalogue law finds (`catalogue_mistakes.py`); torn calls, in `test_interruption.py`.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

UNIT = "tests/unit"
BOUNDED = "test_memory_stays_that_of_the_open_windows_with_ever_new_keys_and_a_moving_clock"


class Point(NamedTuple):
    """A mistake, and tests of which one at least must fail.

    Args:
        plant: Puts it into the code.
        tests: The tests that show the point.
    """

    plant: Callable[[pytest.MonkeyPatch], None]
    tests: tuple[str, ...]


POINTS: dict[str, Point] = {}


def point(name: str, *tests: str) -> Any:
    """Enter a mistake."""

    def entered(plant: Callable[[pytest.MonkeyPatch], None]) -> None:
        POINTS[name] = Point(plant, tests)

    return entered


def pytest_collection_finish() -> None:
    """Plant the mistake, for as long as this process lives."""
    POINTS[os.environ["PLANTED"]].plant(pytest.MonkeyPatch())


def replace(patch: pytest.MonkeyPatch, place: str, other: Any) -> None:
    """Put something else in the place of what a module has, ``module:name`` or ``module:class.name``, everywhere."""
    module, _, name = place.partition(":")
    holder: Any = import_module(module)
    *path, name = name.split(".")
    for part in path:
        holder = getattr(holder, part)
    before = getattr(holder, name)
    patch.setattr(holder, name, other)
    if not path:
        for each in [*sys.modules.values()]:
            if vars(each).get(name) is before:
                patch.setattr(each, name, other)


def nothing(*_: object, **__: object) -> None:
    """Stand for a check that does not look."""


# ------------------------------------------------------------------------------------------------------------- memory


@point("rows of freed windows stay", f"tests/oracle/test_freed_windows.py::{BOUNDED}")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "cartesius.correlations.freed_windows:leaving.due", lambda self, slot, entry: float("inf"))


# ------------------------------------------------------------------------------------------------------------- frames


@point("a checkpoint goes on with other buckets", "tests/laws/test_bridge_restarts.py")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "spark_bridge.state.bucket_states:BucketStates._check", nothing)


@point("columns that are read are not looked for", "tests/laws/test_bridge_reads.py")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "cartesius.analysis.frame_reads:check_reads", nothing)


@point("keys of two types go together", f"{UNIT}/spark_bridge/test_reads.py")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "spark_bridge.reading.demands:_GROUPS", ())


@point("schema= has fields that nobody yields", f"{UNIT}/spark_bridge/test_reads.py")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "spark_bridge.columns.schemas:_check_given", nothing)


@point("what says the order is compared", "tests/spark/test_equivalence.py::test_frames_are_compared_as_streams")
def _(patch: pytest.MonkeyPatch) -> None:
    from spark_bridge import testing

    def pair(one: Any, other: Any, order_by: Any, _: str) -> Any:
        names = [] if order_by is None else [order_by] if isinstance(order_by, str) else order_by
        return tuple(testing._rows(frame.orderBy(*names) if names else frame) for frame in (one, other))

    patch.setattr(testing, "_pair", pair)


@point("a backtick in a name ends it", "tests/spark/test_hostile_names.py")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "spark_bridge.transport.envelope:quoted", lambda name: f"`{name}`")


# ---------------------------------------------------------------------------------------------- snapshots and programs

SNAPSHOTS = f"{UNIT}/cartesius/test_snapshots.py"


@point("a body may ask for a snapshot", SNAPSHOTS)
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "cartesius.programs.doors:check_usable", nothing)


@point("other clauses are the same program", SNAPSHOTS)
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "cartesius.language.fingerprints:describe_clauses", lambda kind: "")


@point("what a body calls is no part of it", SNAPSHOTS)
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "cartesius.expressions.called_functions:used_by", lambda function: {})


@point("damaged snapshots leave as errors of Python's", SNAPSHOTS)
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "cartesius.data.inflating:loading", lambda load: load())


@point("a small snapshot may fill the memory", SNAPSHOTS)
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "cartesius.data.inflating:_most", lambda packed: 1 << 30)


@point("two engines have one state", SNAPSHOTS)
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "cartesius:Engine.__reduce_ex__", object.__reduce_ex__)


@point("functions are compared to print them", f"{UNIT}/cartesius/test_refusals.py")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "cartesius.language.restriction_base:_is_default", lambda value, default: value == default)


RESUMPTIONS = f"{UNIT}/cartesius/test_resumptions.py"


@point("what is dropped ends without its handlers", RESUMPTIONS)
def _(patch: pytest.MonkeyPatch) -> None:
    from greenlet import GreenletExit

    replace(patch, "cartesius.effects.resumptions:_unwind", lambda prompt, target: target.throw(GreenletExit))


@point("a resumption goes on in any thread", RESUMPTIONS)
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "cartesius.effects.resumptions:Resumption._check_thread", nothing)


# ----------------------------------------------------------------------------------------------- the port, and README

PORT = f"{UNIT}/examples"


@point("water is there before it has come", f"{PORT}/test_port_windows.py", f"{PORT}/test_port_command.py")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "examples.port.samples:until_next", lambda source, row, following: row)


@point("a run deletes the last one's results first", f"{PORT}/test_port_outside.py")
def _(patch: pytest.MonkeyPatch) -> None:
    from contextlib import contextmanager

    @contextmanager
    def results(_: Any, out: Any, names: Any) -> Any:
        for name in names:
            (out / name).unlink(missing_ok=True)
        yield out

    replace(patch, "examples.port.results:results", results)


@point("damaged input ends with status 0", f"{PORT}/test_port_outside.py")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "examples.port.results:end", nothing)


@point("README's echo takes the nearest report so far", "tests/oracle/test_readme.py")
def _(patch: pytest.MonkeyPatch) -> None:
    from restrictions import within
    from tests.oracle.test_readme import README

    names = {**README, "nearest": lambda slot, wait: within(wait, "echo", "report")}
    exec(
        "sightings = correlate(echo=echo, report=report, yields=sightings.pattern.yields,"
        ' restrict=same_cell | within(near, "echo", "report") | affinely("echo", "report"))',
        names,
    )
    patch.setitem(README, "sightings", names["sightings"])


# ------------------------------------------------------------------------------------------------- what is from outside


@point("a name is markup", f"{PORT}/test_port_outside.py")
def _(patch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    replace(patch, "examples.port.outside:PlainConsole.__init__", Console.__init__)


@point("a terminal obeys a name", f"{PORT}/test_port_outside.py")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "examples.port.outside:printable", lambda text: text)


@point("a cell is a formula", f"{PORT}/test_port_outside.py")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "examples.port.outside:no_formula", lambda text: text)


@point("a small file unzips to a large one", f"{PORT}/test_port_outside.py")
def _(patch: pytest.MonkeyPatch) -> None:
    import gzip

    replace(patch, "examples.port.tables:_unzipped", lambda content: (gzip.decompress(content), None))


@point("anything is a unit", f"{UNIT}/dsl/test_units.py")
def _(patch: pytest.MonkeyPatch) -> None:
    import re

    replace(patch, "dsl.units:_PRODUCT", re.compile(r"(?s).{0,40}"))


@point("whoever asks gets an answer", f"{UNIT}/dsl/test_edit_server.py::test_who_was_not_given_the_token_is_refused")
def _(patch: pytest.MonkeyPatch) -> None:
    import secrets

    patch.setattr(secrets, "compare_digest", lambda one, other: True)


@point("a request may be of any length", f"{UNIT}/dsl/test_edit_server.py::test_a_request_is_a_small_object_in_json")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("cartesius.pages.local_pages.LARGEST", 1 << 60)


@point("a text may have half a character", f"{UNIT}/dsl/test_edit_server.py::test_no_body_is_more_than_refused")
def _(patch: pytest.MonkeyPatch) -> None:
    import re
    from types import SimpleNamespace

    patch.setattr("dsl.text.parsing.re", SimpleNamespace(**vars(re) | {"search": nothing}))


@point("a field may be an attribute of Python's", f"{UNIT}/spark_bridge/test_buckets.py")
def _(patch: pytest.MonkeyPatch) -> None:
    replace(patch, "cartesius.data.records:TAKEN", frozenset())
