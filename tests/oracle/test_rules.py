"""The rule language as a whole against `rule_oracle`: packs that combine its features, and all that may be pushed.

After each step the table of verdicts, the warnings, `check` of the same rows, a restored engine and the pack that is
read back from its text say what the oracle does; and no finding of `lint` is refuted by a situation that was met.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

import dsl
from cartesius import Delete, Engine
from dsl import RulePack, Source, choice, instant, optional, position
from dsl.units import centimetres, degrees, kilometres, knots, metres, microseconds
from tests.oracle.rule_oracle import (
    SUBJECT,
    Expr,
    Judgement,
    Program,
    World,
    conjunction,
    negation,
    sight,
    truth,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsl import Verdict

KEYS = {"vessel": "mmsi", "berth": "id", "gauge": "id", "tide": "sensor", "wind": None, "breeze": None, "tug": "id"}
KINDS = ("tanker", "box")
SPOTS = {"g1": (0.0, 0.0), "g2": (0.0, 3.0), "g3": (4.0, 1.0)}
UNITS = {"m": metres, "cm": centimetres, "km": kilometres, "kn": knots, "deg": degrees, "us": microseconds}
SCALES = {"m": 1, "cm": 0.01, "km": 1000, "kn": 1, "deg": 1, "us": 1}


@cache
def sources(*ageing: tuple[str, int]) -> SimpleNamespace:
    """The sources of all packs, some of which grow stale."""
    stale: dict[str, Any] = {name: {"stale_after": age * microseconds} for name, age in ageing}
    vessel = Source(
        "vessel", key="mmsi", mmsi=int, draught=metres, kind=choice(*KINDS), dest=str, eta=optional(instant),
        heading=degrees, pilot=bool, basin=str, pos=position, **stale.get("vessel", {}),
    )  # fmt: skip
    return SimpleNamespace(
        vessel=vessel,
        other=dsl.another(vessel, "other"),
        berth=Source(
            "berth", key="id", id=str, depth=metres, gauge=optional(str), pos=position, **stale.get("berth", {})
        ),
        gauge=Source("gauge", key="id", id=str, level=metres, sensor=str, **stale.get("gauge", {})),
        tide=Source("tide", key="sensor", sensor=str, height=metres, forecast=True),
        wind=Source("wind", key=None, velocity=knots, forecast=True),
        breeze=Source("breeze", key=None, speed=knots, gust=optional(knots), dir=degrees, **stale.get("breeze", {})),
        tug=Source("tug", key="id", id=int, free=bool, pull=metres, basin=str, **stale.get("tug", {})),
    )


class Writer:
    """Writes the oracle's tuples in the language; an expression that is named is made once."""

    def __init__(self, known: SimpleNamespace) -> None:
        self.known = known
        self.named: dict[str, Any] = {}

    def __call__(self, term: Any) -> Any:
        match term:
            case ("const", constant):
                return constant
            case ("quantity", number, unit):
                return number * UNITS[unit]
            case ("field", source, name):
                return getattr(getattr(self.known, source), name)
            case ("at", source, name, when):
                return getattr(getattr(self.known, source).at(self(when)), name)
            case ("now",):
                return dsl.now
            case ("named", name, inner):
                return self.named.setdefault(name, dsl.named(name, self(inner)))
            case ("coalesce", first, default):
                return dsl.known_or(self(first), self(default))
            case ("nearest", places, at):
                return dsl.nearest(places, self(at))
            case ("distance", left, right):
                return dsl.distance(self(left), self(right))
            case ("total", "count", source, _, where):
                return dsl.number_of(getattr(self.known, source), where=None if where is None else self(where))
            case ("total", kind, source, summed, where):
                call = {"sum": dsl.sum_of, "mean": dsl.mean_of, "min": dsl.least_of, "max": dsl.greatest_of}[kind]
                return call(self(("field", source, summed)), where=None if where is None else self(where))
            case ("+", left, right):
                return self(left) + self(right)
            case ("-", left, right):
                return self(left) - self(right)
            case ("abs", inner):
                return abs(self(inner))
            case ("cmp", operator, left, right):
                a, b = self(left), self(right)
                return {
                    "==": lambda: a == b, "!=": lambda: a != b, "<": lambda: a < b,
                    "<=": lambda: a <= b, ">": lambda: a > b, ">=": lambda: a >= b,
                }[operator]()  # fmt: skip
            case ("between" | "turning", inner, low, high):
                return dsl.between(self(inner), self(low), self(high))
            case ("known", inner):
                return dsl.known(self(inner))
            case ("holds", inner):
                return self(inner)
            case ("not", inner):
                return dsl.not_(self(inner))
            case ("and", left, right):
                return self(left) & self(right)
            case ("or", left, right):
                return self(left) | self(right)
            case ("throughout", first, last, inner):
                return dsl.throughout(self(first), self(last))(self(inner))
        raise AssertionError(term)

    def write(self, body: tuple[Expr, ...]) -> None:
        for statement in body:
            match statement:
                case ("require", condition, name):
                    dsl.require(self(condition), name)
                case ("when", condition, inner, otherwise):
                    with dsl.when(self(condition)):
                        self.write(inner)
                    if otherwise:
                        with dsl.otherwise():
                            self.write(otherwise)
                case ("location", there, inner):
                    with dsl.location(there):
                        self.write(inner)
                case ("against", where, inner):
                    with dsl.against(self.known.other, where=None if where is None else self(where)):
                        self.write(inner)


def bare(term: Any) -> Any:
    """The oracle's term: quantities as numbers in metres, knots, degrees and microseconds."""
    match term:
        case ("quantity", number, unit):
            return ("const", number * SCALES[unit])
        case tuple():
            return tuple(map(bare, term))
    return term


def field(source: str, name: str) -> Expr:
    return ("field", source, name)


def us(number: int) -> Expr:
    return ("quantity", number, "us")


LENGTHS = st.sampled_from(
    [("quantity", 1, "m"), ("quantity", 200, "cm"), ("quantity", 3, "m"), ("quantity", 2.5, "m"), ("quantity", 0, "km")]
)
SPEEDS = st.sampled_from([("quantity", each, "kn") for each in (1, 2, 3)])
MOMENTS = st.one_of(
    st.just(field("vessel", "eta")),
    st.tuples(st.sampled_from("+-"), st.just(field("vessel", "eta")), st.builds(us, st.integers(1, 4))),
)
TIMES = st.builds(us, st.integers(-4, 6))
ORDERS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])


def totals(what: str) -> st.SearchStrategy[Expr]:
    flag = {"tug": "free", "other": "pilot", "vessel": "pilot"}
    sized = {"tug": "pull", "other": "draught", "vessel": "draught"}

    @st.composite
    def drawn(draw: Any) -> Expr:
        source = draw(st.sampled_from(["tug", "other", "vessel"]))
        where = draw(st.sampled_from([None, ("holds", field(source, flag[source]))]))
        if source != "vessel" and draw(st.booleans()):
            group = ("cmp", "==", field(source, "basin"), field("vessel", "basin"))
            where = group if where is None else ("and", group, where)
        elif draw(st.booleans()):
            big = ("cmp", ">=", field(source, sized[source]), draw(LENGTHS))
            where = big if where is None else ("and", where, big)
        if what == "count":
            return ("total", "count", source, None, where)
        return ("total", draw(st.sampled_from(["sum", "mean", "min", "max"])), source, sized[source], where)

    return drawn()


@st.composite
def lengths(draw: Any, inside: str) -> Expr:
    """A length; ``inside`` is "span", "pair", "only" or ""."""
    leaves = [field("vessel", "draught"), field("berth", "depth"), field("gauge", "level")]
    if inside == "pair":
        leaves += [field("other", "draught")] * 3
    if inside == "span":
        leaves += [field("tide", "height")] * 4
    plain = st.sampled_from(leaves)
    some = [plain]
    if inside != "span":
        some.append(st.builds(lambda at: ("at", "tide", "height", at), MOMENTS))
    if inside == "":
        some.append(totals("length"))
        some.append(st.just(("named", "alpha", ("-", ("+", leaves[1], leaves[2]), leaves[0]))))
    term = draw(st.one_of(*some))
    if draw(st.integers(0, 3)) == 0:
        term = (draw(st.sampled_from("+-")), term, draw(st.one_of(plain, LENGTHS)))
    return ("abs", term) if draw(st.integers(0, 9)) == 0 else term


@st.composite
def speeds(draw: Any, inside: str) -> Expr:
    some = [
        field("breeze", "speed"), field("breeze", "gust"),
        ("coalesce", field("breeze", "gust"), field("breeze", "speed")),
        ("named", "beta", ("coalesce", field("breeze", "gust"), ("quantity", 2, "kn"))),
    ]  # fmt: skip
    if inside == "span":
        return draw(st.sampled_from([*some, *[field("wind", "velocity")] * 4]))
    return draw(st.one_of(st.sampled_from(some), st.builds(lambda at: ("at", "wind", "velocity", at), MOMENTS)))


@st.composite
def atoms(draw: Any, inside: str) -> Expr:
    kinds = ["length", "speed", "field", "turning", "between", "eta"]
    kinds += {"": ["now", "throughout", "count", "count"], "only": ["now", "now"], "pair": ["pair"] * 5, "span": []}[
        inside
    ]
    match draw(st.sampled_from(kinds)):
        case "length":
            return ("cmp", draw(ORDERS), draw(lengths(inside)), draw(st.one_of(LENGTHS, lengths(inside))))
        case "speed":
            return ("cmp", draw(ORDERS), draw(speeds(inside)), draw(st.one_of(SPEEDS, speeds(inside))))
        case "turning":
            low, high = (("quantity", draw(st.sampled_from([0, 90, 180, 340])), "deg") for _ in range(2))
            return ("turning", draw(st.sampled_from([field("vessel", "heading"), field("breeze", "dir")])), low, high)
        case "between":
            high = draw(st.one_of(lengths(inside), st.just(("quantity", 3, "m"))))
            return ("between", draw(lengths(inside)), ("quantity", 1, "m"), high)
        case "eta":
            return ("cmp", draw(ORDERS), field("vessel", "eta"), ("+", draw(MOMENTS), draw(TIMES)))
        case "now":
            ahead = ("-", field("vessel", "eta"), ("now",))
            return draw(
                st.one_of(
                    st.builds(lambda op, time: ("cmp", op, ahead, time), ORDERS, TIMES),
                    st.builds(lambda n, m: ("between", ahead, us(n), us(n + m)), st.integers(-4, 6), st.integers(0, 5)),
                    st.builds(lambda op, at: ("cmp", op, ("now",), at), ORDERS, MOMENTS),
                )
            )
        case "throughout":
            first = draw(st.integers(-3, 3))
            last = draw(st.integers(first, 5))
            eta = field("vessel", "eta")
            foreseen = draw(
                st.sampled_from(
                    [
                        ("cmp", ">=", field("tide", "height"), draw(lengths("span"))),
                        ("cmp", "<=", field("wind", "velocity"), draw(speeds("span"))),
                        ("cmp", "<=", ("-", field("vessel", "draught"), field("tide", "height")), draw(LENGTHS)),
                    ]
                )
            )
            condition = (draw(st.sampled_from(["and", "or"])), draw(conditions("span")), foreseen)
            inner = draw(st.sampled_from([foreseen, foreseen, condition]))
            return ("throughout", ("+", eta, us(first)), ("+", eta, us(last)), inner)
        case "count":
            return ("cmp", draw(ORDERS), draw(totals("count")), ("const", draw(st.integers(0, 2))))
        case "pair":
            far = ("cmp", ">=", ("distance", field("vessel", "pos"), field("other", "pos")), ("quantity", 200, "km"))
            some = [
                ("cmp", "==", field("other", "kind"), ("const", "tanker")), far, ("holds", field("other", "pilot")),
                ("cmp", "==", field("other", "basin"), field("vessel", "basin")),
                ("cmp", "!=", field("other", "draught"), field("vessel", "draught")),
                ("cmp", "<", field("vessel", "eta"), field("other", "eta")), ("known", field("other", "eta")),
            ]  # fmt: skip
            return draw(st.sampled_from(some))
    some = [
        ("cmp", "==", field("vessel", "kind"), ("const", "tanker")),
        ("cmp", "!=", field("vessel", "kind"), ("const", "box")),
        ("holds", field("vessel", "pilot")), ("known", field("vessel", "eta")), ("known", field("breeze", "gust")),
        ("known", field("berth", "gauge")), ("cmp", "==", field("vessel", "dest"), ("const", "A")),
        ("cmp", "<=", ("distance", field("vessel", "pos"), field("berth", "pos")), ("quantity", 200, "km")),
    ]  # fmt: skip
    return draw(st.sampled_from(some))


@st.composite
def conditions(draw: Any, inside: str) -> Expr:
    match draw(st.integers(0, 6)):
        case 0:
            return ("not", draw(atoms(inside)))
        case 1:
            return ("and", draw(atoms(inside)), draw(atoms(inside)))
        case 2:
            return ("or", draw(atoms(inside)), ("not", draw(atoms(inside))))
    return draw(atoms(inside))


@st.composite
def bodies(draw: Any, inside: str, depth: int, names: Any) -> tuple[Expr, ...]:
    found: list[Expr] = []
    for _ in range(draw(st.integers(1, 2))):
        kinds = ["require", "require"]
        if depth:
            kinds += ["when", "when", "location", *([] if inside == "pair" else ["against"])]
        match draw(st.sampled_from(kinds)):
            case "require":
                found.append(("require", draw(conditions(inside)), f"rule {next(names)}"))
            case "when":
                inner = draw(bodies(inside, depth - 1, names))
                otherwise = draw(bodies(inside, depth - 1, names)) if draw(st.booleans()) else ()
                found.append(("when", draw(conditions(inside)), inner, otherwise))
            case "location":
                found.append(("location", draw(st.sampled_from("AB")), draw(bodies(inside, depth - 1, names))))
            case "against":
                same = ("cmp", "==", field("other", "basin"), field("vessel", "basin"))
                where = draw(st.sampled_from([None, same, same, ("and", same, ("holds", field("other", "pilot")))]))
                found.append(("against", where, draw(bodies("pair", depth - 1, names))))
    return tuple(found)


@st.composite
def programs(draw: Any) -> tuple[Program, tuple[tuple[str, int], ...]]:
    berth = ("berth", field("vessel", "dest"))
    links = draw(
        st.sampled_from(
            [
                (berth, ("gauge", ("nearest", SPOTS, field("berth", "pos"))), ("tide", field("gauge", "id"))),
                (berth, ("gauge", field("berth", "gauge")), ("tide", field("gauge", "sensor"))),
                (berth, ("gauge", ("nearest", SPOTS, field("vessel", "pos"))), ("tide", field("berth", "id"))),
            ]
        )
    )
    only = draw(st.none() | conditions("only"))
    body = draw(bodies("", 2, iter(range(1000))))
    ages = [(name, draw(st.integers(2, 8))) for name in ("vessel", "berth", "gauge", "breeze", "tug")]
    return Program(links, only, body), tuple(each for each in ages if draw(st.booleans()))


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(*[values] * 7, st.none())


SPOT = maybe(st.sampled_from([(0.0, 0.1), (0.0, 3.0), (4.0, 1.1)]))
SMALL = maybe(st.integers(0, 4))
ETA = maybe(st.integers(0, 24))
FLAG = maybe(st.booleans())
BASIN = maybe(st.sampled_from(["east", "west"]))
ROWS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "vessel": st.fixed_dictionaries(
        {
            "mmsi": st.integers(1, 3), "draught": SMALL, "kind": maybe(st.sampled_from([*KINDS, "Tanker"])),
            "dest": maybe(st.sampled_from("ABC")), "eta": ETA, "heading": maybe(st.sampled_from([0, 90, 350, 360])),
            "pilot": FLAG, "basin": BASIN, "pos": SPOT,
        }
    ),
    "berth": st.fixed_dictionaries(
        {"id": st.sampled_from("AB"), "depth": SMALL, "gauge": maybe(st.sampled_from(["g1", "g2"])), "pos": SPOT}
    ),
    "gauge": st.fixed_dictionaries(
        {"id": st.sampled_from(["g1", "g2", "g3"]), "level": SMALL, "sensor": maybe(st.sampled_from("AB"))}
    ),
    "breeze": st.fixed_dictionaries({"speed": SMALL, "gust": SMALL, "dir": maybe(st.sampled_from([0, 90, 350]))}),
    "tug": st.fixed_dictionaries({"id": st.integers(1, 3), "free": FLAG, "pull": SMALL, "basin": BASIN}),
}  # fmt: skip
ISSUE = {"issued": st.integers(0, 3), "start": st.integers(0, 20)}
PREDICTIONS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "tide": st.fixed_dictionaries({"sensor": st.sampled_from(["A", "B", "g1", "g2", "g3"]), **ISSUE, "height": SMALL}),
    "wind": st.fixed_dictionaries({**ISSUE, "velocity": SMALL}),
}


@st.composite
def steps(draw: Any) -> tuple[Any, ...]:
    match draw(st.integers(0, 11)):
        case 0 | 1 | 2:
            return ("advance", draw(st.integers(0, 4)))
        case 3:
            name = draw(st.sampled_from(["vessel", "berth", "gauge", "tug"]))
            return ("delete", name, draw(ROWS[name])[KEYS[name] or ""], draw(st.integers(0, 3)))
        case 4 | 5 | 6:
            name = draw(st.sampled_from(["tide", "wind"]))
            row = draw(PREDICTIONS[name])
            row["end"] = row["start"] + draw(st.integers(1, 12))
            return ("push", name, row, draw(st.integers(0, 3)))
        case 7:
            return (
                "withdraw",
                draw(st.sampled_from(["tide", "wind"])),
                draw(st.integers(0, 20)),
                draw(st.integers(0, 3)),
            )
        case 8 | 9 | 10:
            return ("push", "vessel", draw(ROWS["vessel"]), draw(st.integers(0, 3)))
    name = draw(st.sampled_from(sorted(ROWS)))
    return ("push", name, draw(ROWS[name]), draw(st.integers(0, 3)))


SHIP = {"kind": "tanker", "dest": "A", "heading": 0, "pilot": True, "basin": "east", "pos": (0.0, 0.1)}
OPENING: tuple[tuple[Any, ...], ...] = (
    ("push", "breeze", {"speed": 2, "gust": 3, "dir": 90}, 0),
    *(("push", "berth", {"id": each, "depth": 3, "gauge": "g1", "pos": (0.0, 0.1)}, 0) for each in "AB"),
    *(("push", "gauge", {"id": each, "level": 2, "sensor": "A"}, 0) for each in ("g1", "g2", "g3")),
    *(
        ("push", "tide", {"sensor": each, "issued": 0, "start": 0, "end": 30, "height": 2}, 0)
        for each in ("A", "B", "g1", "g2", "g3")
    ),
    ("push", "wind", {"issued": 0, "start": 0, "end": 30, "velocity": 2}, 0),
    ("push", "tug", {"id": 1, "free": True, "pull": 2, "basin": "east"}, 0),
    ("push", "vessel", {"mmsi": 1, "draught": 2, "eta": 6, **SHIP}, 0),
    ("push", "vessel", {"mmsi": 2, "draught": 4, "eta": 12, **SHIP}, 0),
)
"""A world in which all is known, so that there is something to lose."""


class Trial:
    """One pack in an engine, and beside it the world of the oracle."""

    def __init__(self, program: Program, ages: tuple[tuple[str, int], ...]) -> None:
        known, write = sources(*ages), Writer(sources(*ages))
        self.known = known
        links = [getattr(getattr(known, name), KEYS[name] or "") == write(value) for name, value in program.links]
        self.pack = RulePack(
            "port", subject=known.vessel, location=known.vessel.dest, links=links,
            only=None if program.only is None else write(program.only),
        )  # fmt: skip
        with self.pack:
            write.write(program.body)
        self.program = Program(program.links, bare(program.only), bare(program.body))
        choices = {("vessel", "kind"): KINDS}
        self.world = World(KEYS, dict(ages), choices, predictions={"tide": {}, "wind": {}})
        self.outputs = self.pack.table(), self.pack.warnings()
        self.engine = Engine(*self.outputs)
        self.inputs = self.pack.sources
        self.shown: dict[Any, str] = {}
        self.met: list[dict[Any, Judgement]] = []

    def take(self, step: tuple[Any, ...]) -> None:
        world = self.world
        clock = world.clock or 0
        paths: list[dict[Any, Judgement]] = []
        match step:
            case ("advance", by):
                events = self.engine.advance(clock + by)
                for instant in range(clock if world.clock is not None else 0, clock + by + 1):
                    world.clock = instant
                    paths.append(verdicts(self.program, world))
            case ("push", name, row, by):
                events = self.push(name, row, clock + by)
                key = None if KEYS[name] is None else row[KEYS[name]]
                if name in world.predictions:
                    world.predictions[name].setdefault(key, {})[row["issued"], row["start"]] = row
                else:
                    world.rows.setdefault(name, {})[key] = row, clock + by
                paths.append(verdicts(self.program, world))
            case ("delete", name, key, by):
                events = (
                    [] if name not in self.inputs else self.engine.push(self.inputs[name], Delete(key), at=clock + by)
                )
                world.rows.get(name, {}).pop(key, None)
                paths.append(verdicts(self.program, world))
            case ("withdraw", name, number, by):
                everything = [(key, id_) for key, found in world.predictions[name].items() for id_ in found]
                if not everything:
                    return
                key, id_ = sorted(everything, key=repr)[number % len(everything)]
                gone = id_ if KEYS[name] is None else (key, *id_)
                events = (
                    [] if name not in self.inputs else self.engine.push(self.inputs[name], Delete(gone), at=clock + by)
                )
                del world.predictions[name][key][id_]
                paths.append(verdicts(self.program, world))
        self._tell(events, paths)
        self.met.append(paths[-1])
        self.compare(self.engine)

    def push(self, name: str, change: Any, at: int) -> Any:
        """Push what the pack observes."""
        return self.engine.push(self.inputs[name], change, at=at) if name in self.inputs else []

    def _tell(self, events: Any, paths: list[dict[Any, Judgement]]) -> None:
        told: dict[Any, list[str | None]] = {}
        for event in events:
            if event.reactive == "port.warnings":
                change = event.value
                told.setdefault(change.key, []).append(None if isinstance(change, Delete) else change.value.status)
        expected: dict[Any, list[str | None]] = {}
        for verdicts_ in paths:
            for key in {**self.shown, **verdicts_}:
                status = verdicts_[key].status if key in verdicts_ else None
                if self.shown.get(key) != status:
                    expected.setdefault(key, []).append(status)
            self.shown = {key: each.status for key, each in verdicts_.items()}
        assert told == expected

    def compare(self, engine: Engine) -> None:
        expected = self.met[-1] if self.met else {}
        found = engine.query(self.outputs[0])
        assert {key: each.status for key, each in found.items()} == {key: each.status for key, each in expected.items()}
        for key, verdict in found.items():
            same(verdict, expected[key])

    def check(self, pack: RulePack) -> None:
        """Judge each subject by hand, with the rows that the oracle links."""
        for key, expected in verdicts(self.program, self.world).items():
            here = sight(self.program, self.world, key)
            if SUBJECT in here.stale:
                continue
            if any(None in [row for _, row in self.world.all_of(name)] for name in ("tug", SUBJECT)):
                continue  # a list of rows does not say which of them are stale
            rows: dict[str, Any] = {name: row for name, row in here.rows.items() if name in pack.sources}
            for name in self.world.predictions:
                if name in pack.sources:
                    rows[name] = list(self.world.predictions[name].get(here.keys[name], {}).values())
            counted = {each for each in self._tables() if each in ("tug", "vessel", "other")}
            if "tug" in counted:
                rows["tug"] = [row for _, row in self.world.all_of("tug")]
            if counted & {"vessel", "other"}:
                rows["other"] = [row for id_, row in self.world.all_of("vessel") if id_ != key]
            everyone = [rows[SUBJECT], *rows.get("other", [])]
            rows[SUBJECT], *rows["other"] = [{**row, "kind": known_kind(row)} for row in everyone]
            others = rows.pop("other")
            if "other" in counted:
                rows["other"] = others
            elif "vessel" in counted:
                rows[SUBJECT] = [rows[SUBJECT], *others]
            verdict = pack.check(rows, now=here.now)
            assert (verdict.status, named(verdict.failed)) == (expected.status, expected.failed)
            assert named(verdict.undecided) == expected.undecided

    def _tables(self) -> set[str]:
        found = set()

        def walk(term: Any) -> None:
            if isinstance(term, tuple):
                if term[:1] == ("total",):
                    found.add(term[2])
                if term[:1] == ("against",):
                    found.add("other")
                for each in term:
                    walk(each)

        walk(self.program.body)
        return found


def known_kind(row: Mapping[str, Any]) -> str | None:
    kind = row.get("kind")
    return kind if kind in KINDS else None


def named(reasons: Any) -> frozenset[Any]:
    return frozenset((each.name, each.location, tuple(sorted(each.others))) for each in reasons)


def same(verdict: Verdict, expected: Judgement) -> None:
    assert named(verdict.failed) == expected.failed
    if verdict.status == "unknown":  # which they are is no part of what a verdict means, but there is one
        assert verdict.undecided
    if expected.missing is not None:
        assert {name for each in verdict.because for name in each.missing} == expected.missing
        assert {name for each in verdict.because for name in each.stale} == set(expected.stale or ())


def requirements(body: tuple[Expr, ...], guards: tuple[Expr, ...] = ()) -> Any:
    """Each requirement that is not about pairs: name, conditions around it, condition."""
    for statement in body:
        match statement:
            case ("require", condition, name):
                yield name, guards, condition
            case ("when", condition, inner, otherwise):
                yield from requirements(inner, (*guards, condition))
                yield from requirements(otherwise, (*guards, ("not", condition)))
            case ("location", there, inner):
                yield from requirements(inner, (*guards, ("cmp", "==", field("vessel", "dest"), ("const", there))))


@settings(max_examples=30)
@given(programs(), st.lists(steps(), min_size=1, max_size=14), st.integers(0, 13), st.booleans())
def test_the_whole_language_means_what_the_oracle_says(
    drawn: tuple[Program, tuple[tuple[str, int], ...]], trace: list[tuple[Any, ...]], pause: int, is_open: bool
) -> None:
    trial = Trial(*drawn)
    again = RulePack.from_text(trial.pack.to_text())
    assert again.statements == trial.pack.statements
    assert again.to_text() == trial.pack.to_text()
    for step in OPENING if is_open else ():
        trial.take(step)
    for number, step in enumerate(trace):
        trial.take(step)
        if number == pause:
            trial.engine = Engine.restore(trial.engine.snapshot(), *trial.outputs)
            trial.compare(trial.engine)
            trial.check(trial.pack)
            trial.check(again)
    if trial.met:
        trial.check(trial.pack)
        refuted(trial)


def refuted(trial: Trial) -> None:
    """No finding is refuted by the last situation."""
    world, program = trial.world, trial.program
    by_name = {name: (guards, condition) for name, guards, condition in requirements(program.body)}
    for finding in trial.pack.lint():
        if finding.rule not in by_name:
            continue
        guards, condition = by_name[finding.rule]
        for key in trial.met[-1]:
            here = sight(program, world, key)
            applies, holds = conjunction([truth(each, here) for each in guards]), truth(condition, here)
            if finding.kind == "never fails":
                assert not (applies and holds is False), finding
            if finding.kind == "always fails":
                assert not (applies and holds), finding
            if finding.kind == "subsumed":
                others = [by_name[name] for name in finding.concerns if name != finding.rule and name in by_name]
                for around, condition_ in others:
                    fails = conjunction([*(truth(each, here) for each in around), negation(truth(condition_, here))])
                    assert not (applies and holds is False and fails is False), finding
