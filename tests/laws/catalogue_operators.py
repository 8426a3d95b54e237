"""How each operator is drawn on top of what a program has already."""

from __future__ import annotations

from tests.laws.catalogue import Sketch, operator
from tests.laws.catalogue_windows import in_some_windows

STREAM, VALUES, TABLE, ROWS = "stream", "values", "table", "rows"


def _combining(name: str, least: int = 1, most: int = 3) -> None:
    @operator(name, "combining")
    def combined(sketch: Sketch) -> tuple[str, str]:
        streams = [sketch.stream() for _ in range(sketch.draw.randint(least, most))]
        return f"{name}({', '.join(streams)})", VALUES


for _name in ("cartesian", "combine_latest", "zip_", "affine_latest", "with_latest_from", "fork_join"):
    _combining(_name)


@operator("merge", "combining")
def merge(sketch: Sketch) -> tuple[str, str]:
    return f"merge({sketch.stream()}, {sketch.stream()})", STREAM


@operator("sample", "combining")
def sample(sketch: Sketch) -> tuple[str, str]:
    return f"sample({sketch.stream()}, {sketch.stream()})", STREAM


@operator("now", "combining")
def now(sketch: Sketch) -> tuple[str, str]:
    other = sketch.stream()
    return f"{sketch.write('cartesian')}(now({{'n': 1, 'k': 1, 'j': 0, 'v': 'x'}}), {other})", VALUES


@operator("never", "combining")
def never(sketch: Sketch) -> tuple[str, str]:
    return f"{sketch.write('merge')}({sketch.stream()}, never())", STREAM


@operator("either", "combining")
def either(sketch: Sketch) -> tuple[str, str]:
    one, other, third = sketch.stream(), sketch.stream(), sketch.stream()
    used = sketch.write(sketch.of("affinely", "affinely", "most_recently", "momentarily"))
    patterns = [
        f"correlate(a={a}, b={b}, where=lambda a, b: a.k == b.k, yields=lambda a, b: (a, b), restrict={used}('a', 'b'))"
        for a, b in ((one, other), (one, third))
    ]
    return f"either({', '.join(patterns)})", VALUES


# ---------------------------------------------------------------------------------------------------------- one stream


def _simple(name: str, kind: str, *texts: str) -> None:
    @operator(name, "one stream")
    def simple(sketch: Sketch) -> tuple[str, str]:
        return sketch.of(*texts).format(sketch.stream(), sketch.stream() if "{1}" in "".join(texts) else ""), kind


_simple(
    "map_", STREAM, "map_({0}, lambda row: {{'n': row.n, 'k': row.j, 'j': row.k, 'v': row.n}})", "map_({0}, record)"
)
_simple(
    "filter_",
    STREAM,
    "filter_({0}, lambda row: row.k <= row.j)",
    "filter_({0}, lambda row: row.n % 2 == 0)",
    "filter_({0}, lambda row: touchy(row))",
)
_simple("map_concat", STREAM, "map_concat({0}, lambda row: [record(row)] * (size(row) % 3))")
_simple(
    "scan", VALUES, "scan({0}, lambda total, row: size(total) + size(row))", "scan({0}, lambda t, r: t + 1, initial=0)"
)
_simple("buffer", VALUES, "buffer({0}, 2)", "buffer({0}, 3)")
_simple("rolling", VALUES, "rolling({0}, 2)", "rolling({0}, 3)")
_simple(
    "distinct_until_changed",
    STREAM,
    "distinct_until_changed({0})",
    "distinct_until_changed({0}, key=lambda row: row.k)",
    "distinct_until_changed({0}, key=lambda row: row.v)",
)
_simple("skip_while", STREAM, "skip_while({0}, lambda row: row.n < 3)", "skip_while({0}, lambda row: row.k != 1)")
_simple("skip_until", STREAM, "skip_until({0}, {1})")
_simple("take_until", STREAM, "take_until({0}, {1})")
_simple(
    "group_by",
    ROWS,
    "group_by({0}, 'k')",
    "group_by({0}, lambda row: row.j, combine=lambda total, row: total + size(row), initial=0)",
    "group_by({0}, lambda row: size(row) % 2)",
)

# -------------------------------------------------------------------------------------------------------- joins in time


@operator("interval_join", "time joins")
def interval_join(sketch: Sketch) -> tuple[str, str]:
    lower, upper = sketch.of((0, 1), (-2, 1), (-2, 3), (0, 3), (1, 3), (-3, -1), (1, 1))
    lower, upper = lower * sketch.unit, upper * sketch.unit
    key = sketch.of("", ", key='k'", ", key=lambda row: row.k")
    how = sketch.of("", "", ", how='left'", ", how='right'", ", how='full'")
    late = f", lateness={sketch.time(0, 3)}" if sketch.chance(0.3) else ""
    eager = ", eager=True" if how and sketch.chance(0.2) else ""
    return f"interval_join({sketch.stream()}, {sketch.stream()}, {lower}, {upper}{key}{how}{late}{eager})", VALUES


@operator("join", "time joins")
def join(sketch: Sketch) -> tuple[str, str]:
    key = sketch.of("", ", key='k'")
    return f"join({sketch.stream()}, {sketch.stream()}, {sketch.time(1, 3)}, {sketch.time(0, 2)}{key})", VALUES


@operator("group_join", "time joins")
def group_join(sketch: Sketch) -> tuple[str, str]:
    return f"group_join({sketch.stream()}, {sketch.stream()}, {sketch.time(1, 3)}, {sketch.time(0, 2)})", VALUES


@operator("stream_table_join", "time joins")
def stream_table_join(sketch: Sketch) -> tuple[str, str]:
    how = sketch.of("", ", how='left'")
    retention = sketch.of("", f", retention={sketch.time(2, 9)}")
    first, second = (sketch.stream, sketch.table) if sketch.chance(0.6) else (sketch.table, sketch.stream)
    sides = [first(), second()]
    stream, table = sides if first == sketch.stream else sides[::-1]
    return f"stream_table_join({stream}, {table}, on='k'{how}{retention})", VALUES


# -------------------------------------------------------------------------------------------------------------- tables


def _of_table(name: str, kind: str, *texts: str) -> None:
    @operator(name, "tables")
    def made(sketch: Sketch) -> tuple[str, str]:
        text = sketch.of(*texts)
        return text.format(sketch.table(), sketch.table() if "{1}" in text else ""), kind


_of_table("changelog", VALUES, "changelog({0})")
_of_table("update_stream", STREAM, "update_stream({0})")
_of_table("map_table", TABLE, "map_table({0}, lambda row: {{'n': row.n, 'k': row.j, 'j': row.k, 'v': row.v}})")
_of_table(
    "filter_table",
    TABLE,
    "filter_table({0}, lambda row: row.k <= row.j)",
    "filter_table({0}, lambda row: row.n % 2 == 0)",
)
_of_table("combine_updates", ROWS, "combine_updates({0}, 0, lambda total, row: total + size(row))")
for _name in ("inner_join", "left_join", "outer_join"):
    _of_table(_name, ROWS, f"{_name}({{0}}, {{1}})")
_of_table(
    "foreign_join",
    ROWS,
    "foreign_join({0}, {1}, on='k')",
    "foreign_join({0}, {1}, on='j', how='left')",
    "foreign_join({0}, {1}, on=lambda row: row.k)",
)


@operator("to_table", "tables")
def to_table(sketch: Sketch) -> tuple[str, str]:
    if sketch.chance(0.3):
        return f"to_table({sketch.write('changelog')}({sketch.table()}))", TABLE
    return f"to_table({sketch.stream()}, key={sketch.of(repr('k'), repr('j'), 'lambda row: row.n % 3')})", TABLE


@operator("table_of_latest", "tables")
def table_of_latest(sketch: Sketch) -> tuple[str, str]:
    return f"table_of_latest({sketch.stream()})", TABLE


# -------------------------------------------------------------------------------------------------------------- totals

GROUPS = {
    "count": "count",
    "sum_": "sum_.of('k')",
    "mean": "mean.of('j')",
    "min_": "min_.of('k')",
    "max_": "max_.of('j')",
    "Group": "Group(0, lambda a, b: a + b, lambda a: -a, lift=size)",
    "Monoid": "Monoid((), lambda a, b: tuple(sorted(a + b)), lift=lambda row: (size(row),))",
}


def by(sketch: Sketch) -> str:
    return str(sketch.of("", ", by='k'", ", by='j'", ", by=lambda row: row.k", ", by=lambda row: size(row) % 2"))


def reduced(sketch: Sketch, group: str) -> tuple[str, str]:
    key = by(sketch)
    return f"{sketch.write('reduce')}({sketch.table()}, {group}{key})", ROWS if key else VALUES


def aggregated(sketch: Sketch, group: str) -> tuple[str, str]:
    sketch.slots, sketch.sources = ["x"], [""]
    windows = in_some_windows(sketch, but=("windowed",) if sketch.chance(0.8) else ())
    return f"{sketch.write('aggregate')}({sketch.stream()}, {group}{by(sketch)}, restrict={windows})", ROWS


def _group(name: str, text: str) -> None:
    @operator(name, "totals")
    def totalled(sketch: Sketch) -> tuple[str, str]:
        return (aggregated if sketch.chance(0.5) else reduced)(sketch, text)


for _name, _text in GROUPS.items():
    _group(_name, _text)


def _any_group(sketch: Sketch) -> str:
    return GROUPS[sketch.write(sketch.draw.choice(list(GROUPS)))]


@operator("reduce", "totals")
def reduce(sketch: Sketch) -> tuple[str, str]:
    return reduced(sketch, _any_group(sketch))


@operator("aggregate", "totals")
def aggregate(sketch: Sketch) -> tuple[str, str]:
    return aggregated(sketch, _any_group(sketch))


# ----------------------------------------------------------------------------------------------------------- templates


def _template(name: str, *texts: str) -> None:
    @operator(name, "templates")
    def templated(sketch: Sketch) -> tuple[str, str]:
        if name != "operate":
            sketch.write("operate")
        text = sketch.of(*texts)
        for export, used in (("per_item", "passed"), ("in_order_per_key", "differences"), ("BAG", "bagged")):
            if used in text:
                sketch.write(export)
        if "counted" in text or "bagged" in text:
            sketch.write("unordered_per_key")
        sketch.write("Keyed")
        return f"operate({sketch.write('map_')}({sketch.stream()}, keyed), {text.format(sketch.time(2, 5))})", VALUES


_PASSED, _FOLDED, _COUNTED, _BAGGED = (
    "passed('x')",
    "differences('x')",
    "counted('x', every={})",
    "bagged('x', every={})",
)
_template("per_item", _PASSED)
_template("in_order_per_key", _FOLDED)
_template("unordered_per_key", _COUNTED)
_template("BAG", _BAGGED)
_template("Keyed", _PASSED, _FOLDED)
_template("operate", _PASSED, _FOLDED, _COUNTED, _BAGGED)
