"""How windows are drawn, with their reports and contents."""

from __future__ import annotations

from tests.laws.catalogue import Sketch, restriction


def window_options(sketch: Sketch, *, is_session: bool = False) -> str:
    """Lateness, tick, what becomes of what leaves, report, content."""
    found = [f"lateness={sketch.time(1, 3)}"] if sketch.chance(0.3) else []
    if sketch.chance(0.15):
        found.append(f"tick={sketch.of(repr('time'), '2', '3')}")
    if sketch.chance(0.1):
        found.append("on_leave='displace'")
    wanted = sketch.report or (sketch.of("on_close", "final") if sketch.chance(0.3) else "")
    if wanted and not (is_session and wanted.split("(")[0] not in ("on_close", "final")):
        for name in ("on_close", "final", "periodic", "on_content_change", "non_empty", "Report"):
            if name in wanted:
                sketch.write(name)
        found.append(f"report={wanted}")
    if sketch.content:
        found.append(f"content={sketch.content}")
    return "".join(f", {one}" for one in found)


@restriction("tumbling", "windows", is_first=True)
def tumbling(sketch: Sketch) -> str:
    offset = f", offset={sketch.of(1, -3) * sketch.unit}" if sketch.chance(0.2) else ""
    return f"tumbling({sketch.time(4, 8, 12)}{offset}{window_options(sketch)})"


@restriction("sliding", "windows", is_first=True)
def sliding(sketch: Sketch) -> str:
    size, period = sketch.of((4, 2), (4, 2), (8, 4), (6, 4), (3, 4), (5, 1))
    return f"sliding({size * sketch.unit}, {period * sketch.unit}{window_options(sketch)})"


@restriction("session", "windows", is_first=True)
def session(sketch: Sketch) -> str:
    return f"session({sketch.time(1, 2, 4)}{window_options(sketch, is_session=True)})"


@restriction("fixed", "windows", is_first=True)
def fixed(sketch: Sketch) -> str:
    return f"fixed({sketch.base + 2 * sketch.unit}, {sketch.base + 16 * sketch.unit}{window_options(sketch)})"


@restriction("windowed", "windows", is_first=True)
def windowed(sketch: Sketch) -> str:
    return f"windowed({sketch.of('around', 'around', 'opened')}({sketch.unit}){window_options(sketch)})"


ASSIGNERS = {"tumbling": tumbling, "sliding": sliding, "session": session, "fixed": fixed, "windowed": windowed}


def in_some_windows(sketch: Sketch, *, but: tuple[str, ...] = ()) -> str:
    """Windows for what makes no sense without."""
    name = sketch.draw.choice([name for name in ASSIGNERS if name not in but])
    return ASSIGNERS[sketch.write(name)](sketch)


def _reported(name: str, text: str) -> None:
    @restriction(name, "reports", is_first=True)
    def reported(sketch: Sketch) -> str:
        sketch.report = text.format(period=sketch.time(1, 2))
        but = () if name in ("on_close", "final") else ("session",)
        return in_some_windows(sketch, but=but)


for _name, _text in {
    "on_close": "on_close",
    "final": "final",
    "periodic": "periodic({period})",
    "on_content_change": "on_content_change",
    "non_empty": "on_close & non_empty",
    "Report": "Report(('closed', 'non-empty'))",
}.items():
    _reported(_name, _text)


def _relation(name: str) -> None:
    @restriction(name, "reports", is_first=True)
    def related(sketch: Sketch) -> str:
        sketch.report = sketch.of("on_close", "final", "")
        return f"{in_some_windows(sketch)} | {name}()"


for _name in ("istream", "dstream", "rstream"):
    _relation(_name)


def _content(name: str, text: str) -> None:
    @restriction(name, "contents", is_first=True)
    def content(sketch: Sketch) -> str:
        sketch.content = text
        if name == "accumulated":
            sketch.odd |= set(sketch.slots)
            sketch.conditions = ["True"]
        return in_some_windows(sketch)


for _name, _text in {
    "accumulated": "accumulated(0, lambda total, row: total + size(row))",
    "filtered": "filtered(lambda row: row.n % 2 == 0)",
    "first": "first(2)",
    "last": "last(1)",
    "keeping": "keeping(two_lowest)",
}.items():
    _content(_name, _text)
