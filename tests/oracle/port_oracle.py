"""What `python -m examples.port` must say, computed from the raw files as `examples/port/RULES.md` words it.

Nothing of the project is imported: no engine, no partial rows, no three-valued algebra but the few lines below.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Row = dict[str, Any]

COLUMNS = ["time", "mmsi", "name", "status", "because", "missing"]
DAY = datetime(2020, 6, 30, tzinfo=UTC)
WIND_DAY = "2013-06-30"
SOURCES = ["berth", "tide", "stream", "wind", "vessel"]
GAUGES = {"8518750", "8519483", "8531680"}
AIRPORTS = {"EWR": (40.6925, -74.1687), "JFK": (40.6398, -73.7789), "LGA": (40.7772, -73.8726)}
NO_TANKERS = {"red-hook", "brooklyn-navy-yard"}
TANKER_BERTHS = {"constable-hook", "tremley-point"}
NEWARK_BAY = {
    "elizabeth-north", "elizabeth-east", "elizabeth-south", "newark-south", "newark-west", "newark-north",
}  # fmt: skip
LENGTHS = {
    "newark-north": 250, "port-jersey-cars": 300, "constable-hook": 230, "tremley-point": 230, "red-hook": 230,
    "brooklyn-navy-yard": 200,
}  # fmt: skip
NAUTICAL_MILE, STATUTE_MILE = 1852.0, 1609.344
EARTH_RADIUS_KM = 6371.0088


# ------------------------------------------------------------------------------------------------------ reading


class DeadLetterError(Exception):
    """The row cannot be used."""


@dataclass(frozen=True)
class Event:
    """One usable row of one file."""

    time: datetime
    source: str
    key: Any
    row: Row


def records(path: Path) -> Iterator[dict[str, str]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    for record in csv.DictReader(io.StringIO(text, newline="")):
        yield {column: (cell or "").strip() for column, cell in record.items()}


def a_key(cell: str) -> str:
    if not cell:
        message = "no key"
        raise DeadLetterError(message)
    return cell


def a_time(cell: str) -> datetime:
    try:
        time = datetime.fromisoformat(cell)
    except ValueError as error:
        raise DeadLetterError(cell) from error
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def a_number(cell: str, low: float = -math.inf, high: float = math.inf) -> float | None:
    if not cell:
        return None
    try:
        number = float(cell)
    except ValueError as error:
        raise DeadLetterError(cell) from error
    if not math.isfinite(number) or not low <= number <= high:
        raise DeadLetterError(cell)
    return number


def a_position(record: dict[str, str]) -> tuple[float, float] | None:
    lat, lon = a_number(record["lat"], -90, 90), a_number(record["lon"], -180, 180)
    return None if lat is None or lon is None else (lat, lon)


def usable(source: str, path: Path, read: Callable[[dict[str, str]], Event | None]) -> Iterator[Event]:
    """The events of the day judged, in the order of the file."""
    for record in records(path):
        try:
            event = read(record)
        except DeadLetterError:
            continue
        if event is not None and DAY <= event.time < DAY + timedelta(days=1):
            assert event.source == source
            yield event


def predicted(path: Path, read: Callable[[dict[str, str]], Event | None]) -> list[Event]:
    """The predictions of the day judged, each with what is read of the next one of its key, by brute force."""
    midnight = DAY + timedelta(days=1)
    events = []
    for record in records(path):
        try:
            event = read(record)
        except DeadLetterError:
            continue
        if event is not None and DAY <= event.time <= midnight:
            events.append(event)
    by_key: dict[Any, list[Event]] = {}
    for event in events:
        by_key.setdefault(event.key, []).append(event)
    found = []
    for event in events:
        if event.time == midnight:
            continue
        later = [other for other in by_key[event.key] if other.time > event.time]
        soonest = min((other.time for other in later), default=None)
        following = event
        for other in later:
            if other.time == soonest:
                following = other  # the last of those
        found.append(Event(event.time, event.source, event.key, unfavourable(event.row, following.row)))
    return found


def unfavourable(row: Row, following: Row) -> Row:
    """What counts between two predictions."""

    def both(field: str, choose: Callable[[float, float], float]) -> float | None:
        if row[field] is None or following[field] is None:
            return None
        return choose(row[field], following[field])

    if "height" in row:
        return {"height": both("height", min), "highest": both("height", max)}
    return {"rate": both("rate", max), "direction": row["direction"], "next_direction": following["direction"]}


def read_berth(record: dict[str, str]) -> Event:
    berth = a_key(record["id"])
    return Event(
        DAY, "berth", berth, {"id": berth, "depth": a_number(record["depth_m"], 0), "position": a_position(record)}
    )


def read_tide(record: dict[str, str]) -> Event | None:
    sensor = a_key(record["station_id"])
    if sensor not in GAUGES:
        return None
    a_position(record)
    time = a_time(record["time_utc"])
    return Event(time, "tide", sensor, {"height": a_number(record["predicted_m_mllw"])})


def read_stream(record: dict[str, str]) -> Event:
    station = a_key(record["station_id"])
    a_position(record)
    row = {"rate": a_number(record["speed_kn"], 0), "direction": a_number(record["toward_deg_true"], 0, 360)}
    return Event(a_time(record["time_utc"]), "stream", station, row)


def read_wind(record: dict[str, str], shift: timedelta) -> Event:
    station = a_key(record["station"])
    row = {
        "velocity": a_number(record["wind_kn"], 0, 200),
        "direction": a_number(record["wind_from_deg"], 0, 360),
        "gust": a_number(record["gust_kn"], 0, 200),
        "visibility": a_number(record["visibility_mi"], 0),
    }
    return Event(a_time(record["time_utc"]) + shift, "wind", station, row)


def read_vessel(record: dict[str, str], berths: dict[str, Row]) -> Event:
    cell = a_key(record["mmsi"])
    if not cell.isdecimal():
        raise DeadLetterError(cell)
    mmsi = int(cell)
    speed = a_number(record["sog_kn"], 0)
    speed = None if speed is not None and speed >= 102.3 else speed
    course = a_number(record["cog_deg"], 0, 360)
    course = None if course == 360 else course
    length = a_number(record["length_m"], 0) or None
    lat, lon = a_number(record["lat"]), a_number(record["lon"])
    position = None if lat is None or lon is None or abs(lat) > 90 or abs(lon) > 180 else (lat, lon)
    destination, direction = bound(
        berths,
        position=position,
        speed=0.0 if speed is None else speed,
        course=course,
        length=length,
        nav_status=a_number(record["nav_status"]),
    )
    row = {
        "mmsi": mmsi,
        "name": record["name"] or f"MMSI {mmsi}",
        "vessel_type": vessel_type(a_number(record["ship_type"]) or None),
        "hazard": hazard(a_number(record["cargo"])),
        "length": length,
        "beam": a_number(record["beam_m"], 0) or None,
        "draught": a_number(record["draught_m"], 0) or None,
        "speed": speed,
        "course": course,
        "position": position,
        "destination": destination,
        "direction": direction,
    }
    return Event(a_time(record["time_utc"]), "vessel", mmsi, row)


def places(path: Path, wanted: set[str] | None = None) -> dict[str, tuple[float, float]]:
    """Where a file says that its stations are."""
    result: dict[str, tuple[float, float]] = {}
    for record in records(path):
        station = record["station_id"]
        if not station or station in result or (wanted is not None and station not in wanted):
            continue
        try:
            position = a_position(record)
        except DeadLetterError:
            continue
        if position is not None:
            result[station] = position
    return result


# ----------------------------------------------------------------------------------------------------- deriving


def distance_km(one: tuple[float, float], other: tuple[float, float]) -> float:
    (lat1, lon1), (lat2, lon2) = (tuple(map(math.radians, place)) for place in (one, other))
    h = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(h))


def bearing_deg(start: tuple[float, float], end: tuple[float, float]) -> float:
    (lat1, lon1), (lat2, lon2) = (tuple(map(math.radians, place)) for place in (start, end))
    east = math.sin(lon2 - lon1) * math.cos(lat2)
    north = math.cos(lat1) * math.sin(lat2) - math.sin(lat1) * math.cos(lat2) * math.cos(lon2 - lon1)
    return math.degrees(math.atan2(east, north)) % 360


def between_deg(one: float, other: float) -> float:
    apart = abs(one - other) % 360
    return min(apart, 360 - apart)


def nearest(position: tuple[float, float] | None, candidates: dict[str, tuple[float, float]]) -> str | None:
    if position is None or not candidates:
        return None
    return min(candidates, key=lambda name: (distance_km(position, candidates[name]), name))


def vessel_type(code: float | None) -> str | None:
    if code is None:
        return None
    named = {30: "fishing", 31: "tug", 32: "tug", 52: "tug", 36: "sailing", 37: "pleasure"}
    if code in named:
        return named[int(code)]
    return {6: "passenger", 7: "cargo", 8: "tanker"}.get(int(code // 10), "other")


def hazard(code: float | None) -> str | None:
    """AIS: of codes 40-49 and 60-99 the second digit, 1 to 4, is a category of dangerous goods."""
    if code is None or not (40 <= code < 50 or 60 <= code < 100):
        return None
    return {1: "A", 2: "B", 3: "C", 4: "D"}.get(int(code) % 10)


def bound(
    berths: dict[str, Row],
    *,
    position: tuple[float, float] | None,
    speed: float,
    course: float | None,
    length: float | None,
    nav_status: float | None,
) -> tuple[str, str]:
    """The `destination` and the `direction` of a ship."""
    where = {name: berth["position"] for name, berth in berths.items() if berth["position"] is not None}
    here = nearest(position, where)
    if position is not None and here is not None:
        if nav_status == 5 and speed < 0.5 and distance_km(position, where[here]) <= 0.6:
            return here, "moored"
        if length is not None and length >= 80 and speed >= 1 and course is not None:
            ahead = {
                name: place
                for name, place in where.items()
                if distance_km(position, place) <= 15 and between_deg(bearing_deg(position, place), course) <= 20
            }
            goal = nearest(position, ahead)
            if goal is not None:
                return goal, "inbound"
    return "elsewhere", "outbound" if speed >= 1 else "still"


# ------------------------------------------------------------------------------------------------------ judging


@dataclass(frozen=True)
class Term:
    """A comparison, and the observations it mentions; ``optional``: those it can do without; ``each``: any or all."""

    reads: tuple[str, ...]
    test: Callable[..., bool]
    optional: tuple[str, ...] = ()
    each: Literal["any", "all"] | None = None


@dataclass(frozen=True)
class Rule:
    """All conditions imply the requirement."""

    name: str
    conditions: tuple[Term, ...]
    requirement: Term


def wind_at_most(knots: float) -> Term:
    return Term(("wind.velocity",), lambda velocity: velocity <= knots)


def clearance_at_least(metres: float) -> Term:
    reads = ("berth.depth", "tide.height", "vessel.draught")
    return Term(reads, lambda depth, height, draught: (depth + height) - draught >= metres)


def length_at_least(metres: float) -> Term:
    return Term(("vessel.length",), lambda length: length >= metres)


def draught_at_least(metres: float) -> Term:
    return Term(("vessel.draught",), lambda draught: draught >= metres)


def destination_is(berth: str) -> Term:
    return Term(("vessel.destination",), lambda destination: destination == berth)


def kind_is(*kinds: str) -> Term:
    return Term(("vessel.vessel_type",), lambda kind: kind in kinds)


def kind_is_not(*kinds: str) -> Term:
    return Term(("vessel.vessel_type",), lambda kind: kind not in kinds)


def direction_is(wanted: str) -> Term:
    return Term(("vessel.direction",), lambda direction: direction == wanted)


def bound_for(*berths: str) -> Term:
    return Term(("vessel.destination",), lambda destination: destination in berths)


def sector(observation: str, *spans: tuple[float, float]) -> Term:
    """A direction within one of the spans, clockwise."""
    return Term((observation,), in_sector(*spans))


def in_sector(*spans: tuple[float, float]) -> Callable[[float], bool]:
    return lambda degrees: any((degrees - low) % 360 <= (high - low) % 360 for low, high in spans)


def speed_at_most(knots: float) -> Term:
    return Term(("vessel.speed",), lambda speed: speed <= knots)


def visibility_at_least(metres: float) -> Term:
    return Term(("wind.visibility",), lambda miles: miles * STATUTE_MILE >= metres)


def gust_below(knots: float) -> Term:
    """A report without a gust had none; only one without a wind, too, leaves the question open."""
    return Term(("wind.velocity",), lambda velocity, gust: (velocity if gust is None else gust) < knots, ("wind.gust",))


IS_TANKER = kind_is("tanker")
IS_INBOUND = direction_is("inbound")
IS_MOORED = direction_is("moored")
HAS_HAZARD = Term((), lambda hazard: hazard is not None, ("vessel.hazard",))
HAS_NO_HAZARD = Term((), lambda hazard: hazard is None, ("vessel.hazard",))


def rules(berths: dict[str, Row]) -> list[Rule]:
    """The pack `port`, in the order of its table."""
    return [
        Rule("wind limit", (), wind_at_most(45)),
        Rule("wind limit from 200 m", (length_at_least(200),), wind_at_most(35)),
        Rule("wind limit from 300 m", (length_at_least(300),), wind_at_most(30)),
        Rule(
            "small craft",
            (kind_is("pleasure", "sailing"), Term(("vessel.length",), lambda length: length < 20)),
            Term(("wind.velocity",), lambda velocity: velocity < 25),
        ),
        Rule(
            "wind across Newark Bay",
            (length_at_least(250), sector("wind.direction", (60, 120), (240, 300)), bound_for(*NEWARK_BAY)),
            wind_at_most(25),
        ),
        Rule(
            "swell at Port Jersey",
            (sector("wind.direction", (110, 170)), bound_for("port-jersey", "port-jersey-cars")),
            wind_at_most(30),
        ),
        Rule(
            "wind off Constable Hook",
            (sector("wind.direction", (330, 30)), bound_for("constable-hook")),
            wind_at_most(30),
        ),
        *(rule for name in berths for rule in berth_rules(name)),
        *stream_rules(),
        Rule("gusts of a storm", (), gust_below(48)),
        Rule("gusts on high sides", (kind_is("cargo"), length_at_least(200)), gust_below(41)),
        Rule("gusts at the loading arms", (IS_TANKER, IS_MOORED), gust_below(34)),
        Rule("gusts, dangerous cargo", (HAS_HAZARD,), gust_below(34)),
        Rule("fog", (IS_INBOUND,), visibility_at_least(1000)),
        Rule("visibility, deep draught", (IS_INBOUND, draught_at_least(12)), visibility_at_least(NAUTICAL_MILE)),
        Rule("visibility, tankers", (IS_INBOUND, IS_TANKER), visibility_at_least(2 * NAUTICAL_MILE)),
        Rule("visibility from 300 m", (IS_INBOUND, length_at_least(300)), visibility_at_least(2 * NAUTICAL_MILE)),
        Rule("visibility, dangerous cargo", (IS_INBOUND, HAS_HAZARD), visibility_at_least(2 * NAUTICAL_MILE)),
        Rule(
            "safe speed in restricted visibility",
            (
                Term(("vessel.direction",), lambda direction: direction != "moored"),
                Term(("wind.visibility",), lambda miles: miles * STATUTE_MILE < NAUTICAL_MILE),
            ),
            speed_at_most(10),
        ),
        Rule(
            "clearance under way",
            (IS_INBOUND,),
            Term(
                ("berth.depth", "tide.height", "vessel.draught"),
                lambda depth, height, draught: (depth + height) - draught >= 0.1 * draught,
            ),
        ),
        Rule(
            "afloat at low water",
            (IS_MOORED, draught_at_least(12)),
            Term(
                ("berth.depth", "tide.low_water", "vessel.draught"),
                lambda depth, low_water, draught: (depth + low_water) - draught >= 0.2,
            ),
        ),
        Rule("quay awash", (IS_MOORED,), Term(("tide.highest",), lambda height: height <= 2.5)),
        *size_speed_and_business_rules(),
    ]


def berth_rules(name: str) -> list[Rule]:
    here = destination_is(name)
    may_not = [
        Rule(f"no tankers at {name}", (here,), kind_is_not("tanker")),
        Rule(f"no dangerous cargo at {name}", (here,), HAS_NO_HAZARD),
    ]
    longest = LENGTHS.get(name, 400)
    return [
        Rule(f"clearance at {name}", (here,), clearance_at_least(0.5)),
        Rule(f"tanker clearance at {name}", (here, IS_TANKER), clearance_at_least(1.0)),
        *(may_not if name in NO_TANKERS else []),
        Rule(f"length at {name}", (here,), Term(("vessel.length",), lambda length: length <= longest)),
    ]


TOWARDS = ("stream.direction", "stream.next_direction")


def stream_rules() -> list[Rule]:
    def rate_at_most(knots: float) -> Term:
        return Term(("stream.rate",), lambda rate: rate <= knots)

    return [
        Rule(
            "tidal stream",
            (IS_INBOUND, draught_at_least(12), Term(TOWARDS, lambda degrees: degrees >= 180, each="any")),
            rate_at_most(1),
        ),
        Rule(
            "tidal stream, deep draught",
            (IS_INBOUND, draught_at_least(15)),
            Term(TOWARDS, lambda degrees: degrees < 180, each="all"),
        ),
        Rule("tidal stream, tankers", (IS_INBOUND, IS_TANKER), rate_at_most(1.5)),
        Rule(
            "flood off Port Jersey",
            (
                IS_INBOUND,
                draught_at_least(10),
                Term(TOWARDS, in_sector((300, 60)), each="any"),
                bound_for("port-jersey", "port-jersey-cars"),
            ),
            rate_at_most(1.5),
        ),
        Rule("stream on the moorings", (IS_MOORED, length_at_least(200)), rate_at_most(4)),
    ]


def size_speed_and_business_rules() -> list[Rule]:
    size = ("vessel.length", "vessel.beam")
    places_ = ("vessel.position", "berth.position")
    return [
        Rule("beam", (IS_INBOUND,), Term(("vessel.beam",), lambda beam: beam <= 60)),
        Rule(
            "turning basin",
            (IS_INBOUND, bound_for(*NEWARK_BAY)),
            Term(size, lambda length, beam: length * beam <= 22_000),
        ),
        Rule("proportions", (length_at_least(80),), Term(size, lambda length, beam: length / beam >= 3)),
        Rule("squat", (IS_INBOUND, draught_at_least(12)), speed_at_most(12)),
        Rule(
            "wash at the berths",
            (IS_INBOUND, Term(places_, lambda here, there: distance_km(here, there) * 1000 <= 500)),
            speed_at_most(6),
        ),
        Rule("no passengers at tanker berths", (IS_MOORED, bound_for(*TANKER_BERTHS)), kind_is_not("passenger")),
        Rule(
            "no pleasure craft at terminals",
            (IS_MOORED, bound_for(*NEWARK_BAY, *TANKER_BERTHS)),
            kind_is_not("pleasure", "sailing"),
        ),
    ]


def observed(seen: dict[str, Row | None], observation: str) -> Any:
    source, name = observation.split(".")
    row = seen[source]
    return None if row is None else row[name]


def truth(term: Term, seen: dict[str, Row | None]) -> bool | None:
    if term.each is not None:
        truths = [truth(Term((name,), term.test), seen) for name in term.reads]
        return kleene_any(truths) if term.each == "any" else kleene_all(truths)
    if any(observed(seen, observation) is None for observation in term.reads):
        return None
    if any(seen[observation.split(".")[0]] is None for observation in term.optional):
        return None
    return term.test(*(observed(seen, observation) for observation in (*term.reads, *term.optional)))


def kleene_all(truths: list[bool | None]) -> bool | None:
    if False in truths:
        return False
    return None if None in truths else True


def kleene_any(truths: list[bool | None]) -> bool | None:
    if True in truths:
        return True
    return None if None in truths else False


def kleene_implies(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is True:
        return True
    return False if left is True and right is False else None


def missing_of(rule: Rule, seen: dict[str, Row | None]) -> set[str]:
    mentioned = {name for term in (*rule.conditions, rule.requirement) for name in term.reads}
    for term in (*rule.conditions, rule.requirement):
        if truth(term, seen) is None:
            mentioned |= {*term.optional}
    return {
        name.split(".")[0] if seen[name.split(".")[0]] is None else name
        for name in mentioned
        if observed(seen, name) is None
    }


@dataclass(frozen=True)
class Verdict:
    status: str
    failed: tuple[str, ...]
    missing: tuple[str, ...]


def judge(pack: list[Rule], seen: dict[str, Row | None]) -> Verdict:
    failed: list[str] = []
    missing: set[str] = set()
    is_any_unknown = False
    for rule in pack:
        left: bool | None = True
        for term in rule.conditions:  # `kleene_all`, leaving off where the answer is settled
            left = kleene_all([left, truth(term, seen)])
            if left is False:
                break
        if left is False:
            continue  # the implication is true
        holds = kleene_implies(left, truth(rule.requirement, seen))
        if holds is False:
            failed.append(rule.name)
        elif holds is None:
            is_any_unknown = True
            missing |= missing_of(rule, seen)
    status = "restricted" if failed else "unknown" if is_any_unknown else "allowed"
    return Verdict(status, tuple(failed), tuple(sorted(missing)))


# --------------------------------------------------------------------------------------------------- the day


@dataclass
class Harbour:
    """The tables as they stand, and the last verdict about every ship."""

    berths: dict[str, Row]
    gauges: dict[str, tuple[float, float]]
    stations: dict[str, tuple[float, float]]
    tables: dict[str, dict[Any, Row]] = field(default_factory=lambda: {source: {} for source in SOURCES})
    links: dict[int, dict[str, Any]] = field(default_factory=dict)
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    written: Callable[[dict[str, Row]], list[Rule]] = rules

    def __post_init__(self) -> None:
        self.pack = self.written(self.berths)

    def link(self, mmsi: int) -> None:
        ship = self.tables["vessel"][mmsi]
        berth = self.berths.get(ship["destination"])
        self.links[mmsi] = {
            "berth": ship["destination"],
            "tide": None if berth is None else nearest(berth["position"], self.gauges),
            "stream": nearest(ship["position"], self.stations),
            "wind": nearest(ship["position"], AIRPORTS),
            "vessel": mmsi,
        }

    def use(self, event: Event) -> Iterator[dict[str, Any]]:
        """Use one event; the verdict changes."""
        self.tables[event.source][event.key] = event.row
        if event.source == "vessel":
            self.link(event.key)
        for mmsi, links in self.links.items():
            if links[event.source] != event.key:
                continue  # no verdict about this ship looks at the event's row
            seen = {source: self.tables[source].get(links[source]) for source in SOURCES}
            verdict = judge(self.pack, seen)
            if self.verdicts.get(mmsi) == verdict:
                continue
            self.verdicts[mmsi] = verdict
            yield {
                "time": event.time,
                "mmsi": mmsi,
                "name": self.tables["vessel"][mmsi]["name"],
                "status": verdict.status,
                "because": list(verdict.failed),
                "missing": list(verdict.missing),
            }


def verdict_changes(
    data: Path,
    *,
    wind_day: str = WIND_DAY,
    ships: set[int] | None = None,
    until: float | None = None,
    written: Callable[[dict[str, Row]], list[Rule]] = rules,
) -> pd.DataFrame:
    """Every verdict change of the day, sorted by time, ship and order of occurrence.

    Args:
        data: The folder of the raw files.
        wind_day: The day of the wind file whose clock is shifted to the day judged.
        ships: The MMSIs of the ships to judge; all if None.
        until: Leave off before this many hours of the day have passed; the whole day if None.
        written: The rules of the pack, from the berths; those of RULES.md by default.
    """
    shift = DAY - datetime.fromisoformat(wind_day).replace(tzinfo=UTC)
    tide, stream = data / "tide_predicted_6min.csv.gz", data / "current_predicted_6min.csv.gz"

    berth_events = list(usable("berth", data / "berths.csv", read_berth))
    berths = {event.key: event.row for event in berth_events}
    events = [
        *berth_events,
        *predicted(tide, read_tide),
        *predicted(stream, read_stream),
        *usable("wind", data / "wind_2013_selected_days.csv", lambda record: read_wind(record, shift)),
        *usable("vessel", data / "ais_2020-06-30_00h.csv.gz", lambda record: read_vessel(record, berths)),
    ]
    lowest: dict[str, float] = {}
    for event in events:
        if event.source == "tide" and event.row["height"] is not None:
            lowest[event.key] = min(event.row["height"], lowest.get(event.key, math.inf))
    for event in events:
        if event.source == "tide":
            event.row["low_water"] = lowest.get(event.key)
    events.sort(key=lambda event: (event.time, SOURCES.index(event.source)))  # stable: then the place in the file

    end = DAY + timedelta(hours=24 if until is None else until)
    harbour = Harbour(berths, places(tide, GAUGES), places(stream), written=written)
    changes = [
        change
        for event in events
        if event.time < end and (ships is None or event.source != "vessel" or event.key in ships)
        for change in harbour.use(event)
    ]
    changes.sort(key=lambda change: (change["time"], change["mmsi"]))
    frame = pd.DataFrame(changes, columns=COLUMNS)
    return frame.astype({"time": "datetime64[ns, UTC]", "mmsi": "int64"})
