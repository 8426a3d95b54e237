"""Snapshots of programs that have not changed are taken back: what a program is called in them stays.

Whoever changes one of these makes every snapshot, checkpoint and Spark state of such programs useless. That may be
wanted; then the release notes must say so. A function that runs as written is told by its byte code, so a program of
such functions has a name for each minor version of Python, from 3.11 on.
"""

import sys
from datetime import timedelta

import pytest

from cartesius import Engine, Reactive, correlate
from restrictions import (
    affinely,
    at_most,
    in_event_time,
    in_sequence,
    key_by,
    momentarily,
    most_recently,
    only,
    optionally,
    retracting,
    take,
    tumbling,
    within,
    without,
)
from restrictions.streams import group_by, interval_join, scan
from restrictions.tables import aggregate, changelog, inner_join, sum_, table_of_latest, to_table
from restrictions.windows import on_close, session

STREAM, OTHER, TABLE = Reactive("stream"), Reactive("other"), Reactive("table", table=True)


def joined(restrict):
    return correlate(x=STREAM, y=OTHER, yields=lambda x, y: (x.n, y.n), restrict=restrict)


PROGRAMS = {
    "latest": (lambda: joined(key_by(x="k", y="k") | most_recently("x", "y")), "e575e16b130f2af4"),
    "within": (lambda: joined(within(timedelta(seconds=5), "x", "y") | optionally("y")), "4afc756e6aab47e3"),
    "sequence": (lambda: joined(in_sequence("x", "y", contiguity="strict") | momentarily("y")), "f16b2dfd393ca382"),
    "absent": (lambda: joined(without(STREAM, after="x", within=3)), "b6194dc2f281ac84"),
    "windows": (
        lambda: joined(key_by(x="k", y="k") | tumbling(10, report=on_close) | retracting()),
        "07ee37f8fcae791c",
    ),
    "uses": (lambda: joined(affinely("x") | at_most(2, "y") | take(3, "x")), "95102dbcc4230814"),
    "gates": (
        lambda: joined(in_event_time(1) | only("x", lambda row: row.n > 1)),
        "116891546bb78cc8 d266e6acc64385bd a411428c023d9a74",
    ),
    "table of changes": (lambda: to_table(STREAM), "503a4ad1af8931af"),
    "table by key": (lambda: to_table(STREAM, key="k"), "b57e343a94d09846"),
    "changes": (lambda: changelog(TABLE), "908ccc503472e6f1"),
    "latest rows": (lambda: table_of_latest(STREAM), "c1a2241e58522b1a 28cbd377a7eca0e6 cbb3735023aef725"),
    "table join": (lambda: inner_join(TABLE, to_table(STREAM, key="k")), "9931106852b44a4b"),
    "totals": (
        lambda: aggregate(STREAM, sum_.of("n"), by="k", restrict=session(3)),
        "59484fc5874e5b97 67072a786bc706be 2dd47fc43b9d5965",
    ),
    "left join": (lambda: interval_join(STREAM, OTHER, 0, 5, key="k", how="left"), "7125929f6a77d2e1"),
    "groups": (lambda: group_by(STREAM, "k"), "9e85c72a2509be60 88b11685efd657b8 973108db186f104c"),
    "scan": (lambda: scan(STREAM, max), "14f63b5fc6295ed2"),
    "scan from": (lambda: scan(STREAM, max, initial=0), "6d76e15ee3b4fa6a"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_called_in_its_snapshots_as_ever(name):
    make, fingerprints = PROGRAMS[name]
    known = fingerprints.split()
    assert Engine(make())._fingerprint().startswith(known[sys.version_info.minor - 11 if known[1:] else 0])
