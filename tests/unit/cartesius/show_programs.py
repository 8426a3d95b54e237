"""Programs over two inputs, one of each kind, which are recorded, built again and shown."""

from __future__ import annotations

import operator

from cartesius import correlate, each, one_or_more, repeated
from restrictions import (
    affinely,
    aligning,
    as_table,
    cartesian,
    key_by,
    most_recently,
    only,
    optionally,
    retracting,
    versioned,
    within,
    without,
    zip_,
)
from restrictions.streams import either, map_, merge, scan
from restrictions.tables import aggregate, inner_join, sum_, to_table
from restrictions.windows import tumbling


def direct(a, b):
    @correlate(x=a, y=b, restrict=most_recently("x"))
    def pairs(x, y, *, time_x):
        if x["k"] == y["k"]:
            yield x["n"], y["n"], time_x.end

    return pairs


def alternatives(a, b):
    one = correlate(x=a, y=b, yields=lambda x, y: (x.n, y.n), restrict=affinely("x", "y"), name="one")
    return either(one, correlate(x=a, yields=lambda x: x.n, restrict=affinely("x") | without(b, after="x", within=1)))


PROGRAMS = {
    "a product": cartesian,
    "nested": lambda a, b: cartesian(map_(zip_(a, b), lambda pair: pair[0]), b, restrict=most_recently("b")),
    "keys": lambda a, b: correlate(
        x=a, y=b, yields=lambda x, y: (x.n, y.n), restrict=key_by(x="k", y="k") | most_recently("x", "y")
    ),
    "a where that does not trace": lambda a, b: correlate(
        x=a, y=b, where=lambda x, y: x.n if y.n > 2 else False, yields=lambda x, y: (x.n, y.n)
    ),
    "direct style": direct,
    "lists": lambda a, b: correlate(
        xs=repeated(a, 2), y=b, where=lambda xs, y: each(xs, lambda x: x.k == y.k), yields=lambda xs, y: (xs[0].n, y.n)
    ),
    "runs": lambda a, b: correlate(
        run=one_or_more(a, where=lambda run: len(run) < 2 or run[-1]["n"] > run[-2]["n"]),
        y=b,
        yields=lambda run, y: (len(run), y.n),
        restrict=affinely("run"),
    ),
    "absence": lambda a, b: correlate(x=a, yields=lambda x: x.n, restrict=without(b, after="x", within=1)),
    "absence of what is derived": lambda a, b: correlate(
        x=a, yields=lambda x: x.n, restrict=without(map_(b, lambda y: y.n), after="x", within=1)
    ),
    "alternatives": alternatives,
    "a table": lambda a, b: correlate(
        x=a,
        y=b,
        yields=lambda x, y: (x.n, None if y is None else y.n),
        restrict=key_by(x="k", y="k") | most_recently("x", "y") | optionally("y") | retracting() | as_table("x"),
    ),
    "joined tables": lambda a, b: inner_join(to_table(a, key="k"), to_table(b, key="k")),
    "a total": lambda a, b: scan(map_(merge(a, b), lambda x: x.n), operator.add),
    "windows": lambda a, b: cartesian(a, b, restrict=tumbling(5)),
    "totals in windows": lambda a, b: correlate(
        total=aggregate(merge(a, b), sum_.of("n"), by="k", restrict=tumbling(5)),
        yields=lambda total: total,
        restrict=retracting() | as_table("total"),
    ),
    "a gate that drops": lambda a, b: cartesian(a, b, restrict=only("a", lambda x: x.n > 2) | within(4, "a", "b")),
    "queues in windows": lambda a, b: cartesian(a, b, restrict=tumbling(5) | aligning("a", "b")),
    "queues of keys": lambda a, b: cartesian(a, b, restrict=key_by(a="k", b="k") | aligning("a", "b") | affinely("a")),
    "versions": lambda a, b: cartesian(
        to_table(a, key="k", restrict=versioned("x")), to_table(b, key="k", restrict=versioned("x"))
    ),
}
