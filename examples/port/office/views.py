"""Ships, sources and berths as the page shows them: plain data, times as ISO strings in UTC, ages in seconds.

What is not known is said to be: a ship of which no verdict is there is unknown, never allowed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import attrs

from dsl.versions import PackChanges
from examples.port.cells import moment
from examples.port.office.figures import in_force
from examples.port.office.foreseen import Next, Unforeseen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cartesius.pages.local_pages import Json
    from examples.port.office.records import Change, Failed, Pack, Seen

WORDS: Final = {
    "vessel": "reports of ships (AIS)", "tide": "predictions of the tide", "stream": "predictions of the tidal stream",
    "wind": "reports of the wind", "berth": "list of berths",
}  # fmt: skip
STALE_S: Final = {"vessel": 900, "tide": 900, "stream": 900, "wind": 5_400}
"""How old the newest reading of a source may be, in seconds: ships report every few minutes, predictions are six
minutes apart and winds an hour; the list of berths does not age."""
NOT_JUDGED: Final = {"rule": "not judged yet", "what": ["verdict"]}


def iso(time: int) -> str:
    """Return a time in microseconds since the epoch as an ISO string in UTC.

    >>> iso(1593475200000000)
    '2020-06-30T00:00:00Z'
    """
    return moment(time).isoformat().replace("+00:00", "Z")


def microseconds_of(text: str) -> int:
    """Return the time that an ISO string says, in microseconds since the epoch; without a zone it is in UTC.

    >>> microseconds_of("2020-06-30T00:00:00Z"), microseconds_of("2020-06-30T01:00+01:00")
    (1593475200000000, 1593475200000000)

    Raises:
        ValueError: It is no time.
        OverflowError: Its year in UTC is before 1 or after 9999.
    """
    time = datetime.fromisoformat(text)
    since = (time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)) - datetime.fromtimestamp(0, UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def age(time: int, now: int) -> int:
    """Return how old a reading is, in whole seconds."""
    return max(0, (now - time) // 1_000_000)


def is_stale(source: str, time: int, now: int) -> bool:
    """Whether a reading is older than those of its source should be."""
    return source in STALE_S and age(time, now) > STALE_S[source]


@attrs.frozen
class Ship:
    """What is known of a ship at a moment.

    Args:
        report: Her last report.
        change: The last change of her verdict.
        since: Since when she has its status.
        failed: What fails, in figures of that moment.
    """

    report: Seen | None
    change: Change | None
    since: int | None
    failed: tuple[Failed, ...]

    @property
    def mmsi(self) -> int:
        """Hers."""
        return self.change.mmsi if self.change is not None else int(self.report.key) if self.report is not None else 0


def ship_view(ship: Ship, now: int, following: Next | Unforeseen | None, foreseen: bool) -> Json:
    """Return a ship as the page shows her.

    Args:
        ship: What is known of her.
        now: The time.
        following: The next change of her verdict.
        foreseen: Whether that has been looked for; else no change is foreseen because nobody has looked yet.
    """
    report, change = ship.report, ship.change
    row: Mapping[str, Any] = {} if report is None else report.row
    position = row.get("position") or (None, None)
    lies, comes = _berths(row)
    return {
        "mmsi": ship.mmsi,
        "name": str(row.get("name") or (change and change.name) or f"MMSI {ship.mmsi}"),
        "kind": row.get("vessel_type"),
        "draught": row.get("draught"),
        "status": "unknown" if change is None else change.status,
        "since": None if ship.since is None else iso(ship.since),
        "lon": position[1],
        "lat": position[0],
        "course": row.get("course"),
        "speed": row.get("speed"),
        "seen": None if report is None else iso(report.time),
        "age_s": None if report is None else age(report.time, now),
        "berth": lies,
        "heads_for": comes,
        "failed": [attrs.asdict(each) for each in ship.failed],
        "missing": [NOT_JUDGED] if change is None else missing_view(change),
        "pack": "" if change is None else change.pack,
        "foreseen": following.why if isinstance(following, Unforeseen) else foreseen,
        "next": next_view(following),
    }


def next_view(following: Next | Unforeseen | None) -> Json | None:
    """Return the next change of a verdict as the page shows it; None: none is foreseen."""
    if not isinstance(following, Next):
        return None
    return {"at": iso(following.at), "status": following.status, "rule": following.rule, "why": following.why}


def missing_view(change: Change) -> list[Json]:
    """Return the requirements that are not decided."""
    return [{"rule": each.rule, "what": list(each.what)} for each in change.missing]


def _berths(row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Where she lies, and for where she heads."""
    berth = row.get("destination")
    if berth in (None, "elsewhere"):
        return None, None
    return (None, berth) if row.get("direction") == "inbound" else (berth, None)


def change_view(change: Change) -> Json:
    """Return a change of a verdict, with how old each reading was that it read."""
    return {
        "time": iso(change.time),
        "status": change.status,
        "failed": [attrs.asdict(each) for each in change.failed],
        "missing": missing_view(change),
        "pack": change.pack,
        "read": [
            {"source": source, "key": key, "last": iso(at), "age_s": age(at, change.time)}
            for source, (key, at) in change.read.items()
        ],
    }


def source_view(source: str, last: int | None, now: int) -> Json:
    """Return a source: what it is, and how old its newest reading is."""
    return {
        "source": source,
        "what": WORDS.get(source, source),
        "last": None if last is None else iso(last),
        "age_s": None if last is None else age(last, now),
        "stale": last is None or is_stale(source, last, now),
    }


def berth_views(berths: Iterable[Seen], ships: Iterable[Json]) -> list[Json]:
    """Return the berths: who lies there, and who comes."""
    lies: dict[str, list[int]] = {}
    comes: dict[str, list[int]] = {}
    for ship in ships:
        for where, berth in ((lies, ship["berth"]), (comes, ship["heads_for"])):
            if berth is not None:
                where.setdefault(berth, []).append(ship["mmsi"])
    found = []
    for each in berths:
        lat, lon = each.row["position"] or (None, None)
        who = {"lies": lies.get(each.key, []), "comes": comes.get(each.key, [])}
        found.append({"id": each.key, "lon": lon, "lat": lat, "depth": each.row["depth"], **who})
    return found


def rule_views(pack: Pack | None, ships: Iterable[Json]) -> list[Json]:
    """Return the rules, and the ships that each touches: with which it fails, or is not decided."""
    touched: dict[str, list[int]] = {}
    for ship in ships:
        for rule in dict.fromkeys(each["rule"] for each in (*ship["failed"], *ship["missing"])):
            touched.setdefault(rule, []).append(ship["mmsi"])
    rules = () if pack is None else pack.rules
    return [{"name": name, "text": text, "ships": touched.get(name, [])} for name, text in rules]


def pack_view(packs: Sequence[Pack], at: int) -> tuple[Pack | None, Json]:
    """Return the pack in force at a moment, and the log of the packs until then as the page shows it."""
    last = in_force(packs, at)
    found = [each for each in packs if each.at <= at] or ([] if last is None else [last])
    log = [
        {
            "version": each.version, "at": iso(each.at), "changed": iso(each.changed), "who": each.who,
            **_differences(each.differs or PackChanges()),
        }
        for each in found
    ]  # fmt: skip
    said = {"version": None, "since": None, "who": None} if last is None else {
        "version": last.version, "since": iso(last.at), "who": last.who
    }  # fmt: skip
    return last, {**said, "changes": log}


def _differences(differs: PackChanges) -> Json:
    kinds = {
        "rules_added": differs.rules_added, "rules_removed": differs.rules_removed,
        "rules_changed": differs.rules_changed,
    }  # fmt: skip
    sentences = [[each.name, each.before, each.after] for rules in kinds.values() for each in rules]
    names: Json = {kind: [each.name for each in rules] for kind, rules in kinds.items()}
    return {**names, "sentences": sentences, "declarations": list(differs.declarations)}
