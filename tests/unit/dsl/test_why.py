"""`python -m dsl why` says from what is stored what was said then, today as in a year."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cartesius import Engine, Update
from cartesius.errors import InvalidArgument
from dsl import (
    RulePack,
    Source,
    against,
    another,
    between,
    distance,
    instant,
    named,
    now,
    number_of,
    position,
    require,
    when,
)
from dsl.__main__ import main
from dsl.audit import why
from dsl.audit.answer_texts import told
from dsl.histories import History
from dsl.units import degrees, hours, kilometres, metres, minutes
from examples.port.history import history_tables
from examples.port.inputs import read_day
from examples.port.programs import rule_pack
from tests.documents import DOCS, of_language

STORED = Path(__file__).parent / "stored_history"
PORT = Path(__file__).resolve().parents[3] / "examples" / "port" / "data"
ASKED = [
    ("anna", "2020-06-30T06:30Z"),  # the wind restricts her, and her berth too
    ("244", "2020-06-30T11:30Z"),  # half an hour before the rules change, and just after
    ("244", "2020-06-30T12:00Z"),
    ("245", "2020-06-30T05:00Z"),  # a tanker
    ("246", "2020-06-30T05:00Z"),  # no berth has rules for her
    ("247", "2020-06-30T05:00Z"),  # without a name and a draught
    ("249", "2020-06-30T13:30Z"),  # with a hostile name, when the tide is too old
]
DAY = datetime(2020, 6, 30, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ask(*more: str, subject: str = "244", at: str = "2020-06-30T06:30Z", packs: Path = STORED / "packs.jsonl") -> int:
    stored = ["--packs", str(packs), "--data", str(STORED / "data")]
    return main(["why", "--ship", subject, "--at", at, *stored, *more])


# ------------------------------------------------------------------------------------------------ the same in a year


def test_the_answers_are_those_that_were_committed(capsys: pytest.CaptureFixture[str]) -> None:
    golden = json.loads((STORED / "answers.json").read_text())
    for (subject, at), expected in zip(ASKED, golden, strict=True):
        assert ask("--json", subject=subject, at=at) == 0
        assert json.loads(capsys.readouterr().out) == expected


def test_the_texts_are_those_that_were_committed(capsys: pytest.CaptureFixture[str]) -> None:
    for subject, at in ASKED:
        assert ask("--all", subject=subject, at=at) == 0

    assert capsys.readouterr().out == (STORED / "answers.txt").read_text()


def test_the_page_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(subject="Anna") == 0
    shown = of_language("text", DOCS / "how_to" / "why_was_she_stopped.md")

    assert capsys.readouterr().out == shown[0].code


def test_each_answer_has_the_version_that_was_in_force_then() -> None:
    before, after = (why(STORED / "packs.jsonl", STORED / "data", "244", DAY + timedelta(hours=h)) for h in (11.5, 12))

    assert (before.pack == after.pack, before.since, after.since) == (
        *(False, (DAY, "eva")),
        (DAY + timedelta(hours=12), "bo"),
    )
    assert before.verdict is not None
    assert after.verdict is not None
    assert [before.verdict.pack, after.verdict.pack] == [before.pack, after.pack]


# ------------------------------------------------------------------------------------ as the engine said at that moment


def said_by_the_engine(pack: RulePack, history: History) -> dict[tuple[object, int], object]:
    """What an engine that is pushed a history says last of a subject at each time at which it says something."""
    engine, said = Engine(pack.table()), dict[tuple[object, int], object]()
    for input_, row, time in history.pushes():
        for event in engine.push(input_, row, at=time):
            said[event.value.key, int(event.end)] = event.value.value if isinstance(event.value, Update) else None
    return said


def answers_as_the_engine(tmp_path: Path, share: float, number: int) -> int:
    """Compare answers with what was said of some ships of New York's day; return how many."""
    drawn, day = random.Random(20200630), read_day(PORT)
    for source, table in history_tables(day).items():
        if source == "vessel":
            ships = sorted(set(table.column("mmsi").to_pylist()))
            kept = set(drawn.sample(ships, int(share * len(ships))))
            cut = table.filter([mmsi in kept for mmsi in table.column("mmsi").to_pylist()])
        pq.write_table(cut if source == "vessel" else table, tmp_path / f"{source}.parquet")
    pack = rule_pack("port", day.berths, day.gauges, day.stations)
    said = said_by_the_engine(pack, History(tmp_path, pack))
    for subject, time in drawn.sample(sorted(said), min(number, len(said))):
        answer = why(pack, tmp_path, str(subject), EPOCH + timedelta(microseconds=time))
        assert answer.verdict == said[subject, time], (subject, time)
    return len(said)


def test_an_answer_is_what_the_engine_said_at_that_moment(tmp_path: Path) -> None:
    assert answers_as_the_engine(tmp_path, 0.05, 5) >= 5


@pytest.mark.slow
def test_every_answer_of_the_day_is_what_the_engine_said_at_that_moment(tmp_path: Path) -> None:
    assert answers_as_the_engine(tmp_path, 1, 10_000) > 300


@pytest.mark.parametrize("minute", [0, 29, 30, 31, 59, 60, 61, 119, 120, 121])
def test_what_grows_old_and_what_the_clock_changes_is_as_it_was_then(tmp_path: Path, minute: int) -> None:
    ship = Source("ship", key="id", id=int, eta=instant, position=position)
    tide = Source("tide", key=None, height=metres, stale_after=30 * minutes)
    tug = Source("tug", key="id", id=int, home=int)
    pack = RulePack("port", subject=ship)
    with pack:
        require(tide.height >= 1 * metres, name="tide")
        require(number_of(tug) >= 2, name="tugs")
        with when(ship.eta - now <= 1 * hours):
            require(tide.height >= 2 * metres, name="soon")
        other = another(ship, "other")
        with against(other):
            require(distance(ship.position, other.position) >= 1 * kilometres, name="apart")
    (tmp_path / "ship.csv").write_text(
        "time,id,eta,position\n2020-06-30T00:00Z,7,2020-06-30T02:00Z,40.7 -74\n2020-06-30T00:31Z,8,,40.7 -74.0001\n"
    )
    (tmp_path / "tide.csv").write_text("time,height\n2020-06-30T00:00Z,1.5\n2020-06-30T01:00Z,1.5\n")
    (tmp_path / "tug.csv").write_text("time,id,home\n2020-06-30T00:00Z,1,1\n2020-06-30T01:00Z,2,1\n")
    moment = (DAY - EPOCH) // timedelta(microseconds=1) + minute * 60_000_000
    engine = Engine(pack.table())
    for input_, row, time in History(tmp_path, pack).pushes():
        if time <= moment:
            engine.push(input_, row, at=time)
    engine.advance(moment)

    answer = why(pack, tmp_path, "7", DAY + timedelta(minutes=minute))

    assert answer.verdict == engine.lookup(pack.table(), 7)
    outcomes = {each.reason.name: each.outcome for each in answer.account.requirements} if answer.account else {}
    assert outcomes["tugs"] == ("holds" if minute >= 60 else "fails")
    assert outcomes["apart"] == ("fails" if minute >= 31 else "holds")
    assert (outcomes["soon"] == "does not apply") == (minute < 60)
    shown = {each.source: each for each in answer.rows if each.source != "ship"}
    assert shown["tide"].is_stale == (30 <= minute < 60 or minute >= 90)
    assert shown["tug"].count == (2 if minute >= 60 else 1)
    assert len([each for each in answer.rows if each.source == "ship"]) == (2 if minute >= 31 else 1)


def test_times_are_told_as_times_and_limits_as_limits(tmp_path: Path) -> None:
    ship = Source("ship", key="id", id=int, eta=instant, height=metres)
    pack = RulePack("port", subject=ship)
    with pack:
        require(ship.eta <= now + 1 * hours, name="eta")
        require(15 * metres >= ship.height, name="bridge")
    (tmp_path / "ship.csv").write_text("time,id,eta,height\n2020-06-30T00:00Z,7,2020-06-30T02:00Z,16\n")

    answer = why(pack, tmp_path, "7", DAY + timedelta(minutes=30))

    printed = told(answer)
    late = "It was 2020-06-30 02:00:00 UTC; it must be at or before 2020-06-30 01:30:00 UTC: 0.5 h beyond the limit."
    assert late in printed
    assert "It was 16 m; it must be at most 15 m: 1 m beyond the limit." in printed
    assert "eta 2020-06-30T02:00:00+00:00, height 16 m" in printed
    (eta, _) = answer.data()["requirements"]
    assert eta["compared"]["value"] == {"what": "ship.eta", "value": "2020-06-30T02:00:00+00:00", "unit": ""}


def test_what_fails_at_the_limit_itself_has_nothing_to_spare_and_names_are_those_of_the_description(
    tmp_path: Path,
) -> None:
    rules = RulePack.from_text("""pack: p
subject: vessel
source vessel by mmsi:
    mmsi: number
    draught: metres
source tide:
    gauge_height: metres
source tide_gauge:
    height: metres
draught must be below 15 m
draught must not be 15 m
draught must be at most 15 m
`tide.gauge_height` must be at least 1 m
`tide_gauge.height` must be at least 1 m
""")
    (tmp_path / "vessel.csv").write_text("time,mmsi,draught\n2020-06-30T01:00Z,1,15\n")
    (tmp_path / "tide.csv").write_text("time,gauge_height\n2020-06-30T01:00Z,2\n")
    (tmp_path / "tide_gauge.csv").write_text("time,height\n2020-06-30T01:00Z,2\n")
    answer = why(rules, tmp_path, "1", DAY + timedelta(hours=1))
    lines = told(answer).splitlines()

    assert [line.rpartition(": ")[2] for line in lines if "It was 15 m" in line] == [
        *["at the limit itself."] * 2, "0 m to spare."
    ]  # fmt: skip
    assert [each["says"] for each in answer.data()["requirements"]][3:] == [
        "tide.gauge_height must be at least 1 m", "tide_gauge.height must be at least 1 m"
    ]  # fmt: skip


@pytest.mark.parametrize("minute", [0, 20, 45])
def test_forecasts_are_those_that_were_issued_by_then(tmp_path: Path, minute: int) -> None:
    ship = Source("ship", key="id", id=int, eta=instant)
    tide = Source("tide", key=None, height=metres, forecast=True)
    pack = RulePack("port", subject=ship)
    with pack:
        require(tide.at(ship.eta).height >= 1 * metres, name="high enough")
    (tmp_path / "ship.csv").write_text("time,id,eta\n2020-06-30T00:00Z,7,2020-06-30T03:00Z\n")
    (tmp_path / "tide.csv").write_text(
        "time,issued,start,end,height\n"
        "2020-06-30T00:10Z,2020-06-30T00:10Z,2020-06-30T02:00Z,2020-06-30T04:00Z,1.2\n"
        "2020-06-30T00:30Z,2020-06-30T00:30Z,2020-06-30T02:00Z,2020-06-30T04:00Z,0.8\n"
    )

    answer = why(pack, tmp_path, "7", DAY + timedelta(minutes=minute))

    assert answer.account is not None
    (found,) = answer.account.requirements
    assert found.outcome == {0: "undecided", 20: "holds", 45: "fails"}[minute]
    assert answer.rows[1].count == {0: 0, 20: 1, 45: 2}[minute]
    assert "high enough" in told(answer)
    assert json.dumps(answer.data())


def test_names_are_those_of_the_description_wherever_a_pack_reads(tmp_path: Path) -> None:
    """Fields that only a link or only= reads were not told apart; nor did it show where a long condition ends."""
    ship = Source("ship", key="id", id=int, deep=metres, berth=str)
    tide, gauge = Source("tide", key=None, gauge_height=metres), Source("tide_gauge", key=None, height=metres)
    dock = Source("dock", key="id", id=str, depth=metres)
    place = named("deep", ship.berth)
    pack = RulePack("port", subject=ship, links=[dock.id == place], only=gauge.height >= 0 * metres)
    with pack:
        require(tide.gauge_height < 15 * metres, "tide")
        require((dock.depth >= 1 * metres) & (ship.deep >= 1 * metres), "deep")
        with when((ship.deep > 9 * metres) | (dock.depth > 9 * metres)), when(tide.gauge_height > 20 * metres):
            require(ship.deep <= 1 * metres, "never")
    rows = {
        "ship": "id,deep,berth\n{},7,5,A", "tide": "gauge_height\n{},15", "tide_gauge": "height\n{},3",
        "dock": "id,depth\n{},A,5",
    }  # fmt: skip
    for name, text in rows.items():
        (tmp_path / f"{name}.csv").write_text(f"time,{text.format('2020-06-30T00:00Z')}\n")
    answer = why(pack, tmp_path, "7", DAY)
    says = [each["says"] for each in answer.data()["requirements"]]
    described = pack.describe()
    assert says[:2] == [
        "tide.gauge_height must be below 15 m",
        "the dock depth must be at least 1 m, and ship.deep must be at least 1 m",
    ]
    assert all(each in described for each in says)
    told_all = told(answer, with_all=True)
    assert "Only where (either ship.deep is above 9 m or the dock depth is above 9 m) and tide.gauge_height" in told_all


def test_a_subject_that_is_not_considered_has_no_verdict_and_that_is_said(tmp_path: Path) -> None:
    ship = Source("ship", key="id", id=int, length=metres)
    pack = RulePack("port", subject=ship, only=ship.length >= 20 * metres)
    with pack:
        require(ship.length <= 100 * metres)
    (tmp_path / "ship.csv").write_text("time,id,length\n2020-06-30T00:00Z,7,12\n")

    answer = why(pack, tmp_path, "7", DAY)

    assert answer.verdict is None
    assert (
        told(answer)
        .splitlines()[0]
        .endswith("was not judged at 2020-06-30 00:00:00 UTC: the rules do not consider it then.")
    )
    assert answer.data()["status"] is None
    assert answer.rows[0].values == (("id", 7, ""), ("length", 12.0, "m"))


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("subject", "at", "said"),
    [
        ("eva", "2020-06-30T04:00Z", "2 are called 'eva' at 2020-06-30T04:00:00+00:00: 245, 246; ask by mmsi"),
        ("annna", "2020-06-30T04:00Z", "got 'annna'; did you mean 'ANNA'?"),
        ("2444", "2020-06-30T04:00Z", "got '2444'; did you mean '244'"),
        ("???", "2020-06-30T04:00Z", "there are 3, ask by mmsi or by name"),
        ("248", "2020-06-30T04:00Z", "248 is not known at 2020-06-30T04:00:00+00:00: the first row"),
        ("orca", "2020-06-30T04:00Z", "the first row of it is of 2020-06-30T13:00:00+00:00"),
        ("244", "2020-06-29T04:00Z", "its first is in force from 2020-06-30T00:00:00+00:00 on"),
        ("244", "9999-12-31T23:59:59-10:00", "expected a time but got --at '9999-12-31T23:59:59-10:00'; write it as"),
        ("244", "0001-01-01T00:00+10:00", "expected a time but got --at '0001-01-01T00:00+10:00'; write it as"),
        ("244", "teatime", "expected a time but got --at 'teatime'; write it as"),
        ("\x1b[2J", "2020-06-30T04:00Z", r"but got '\x1b[2J'"),
    ],
)
def test_a_question_without_an_answer_says_why_and_what_to_ask(
    capsys: pytest.CaptureFixture[str], subject: str, at: str, said: str
) -> None:
    assert ask(subject=subject, at=at) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_a_time_before_the_history_is_refused_with_where_it_begins() -> None:
    pack = RulePack.from_text(json.loads((STORED / "packs.jsonl").read_text().splitlines()[0])["text"])

    with pytest.raises(InvalidArgument, match=r"begins at 2020-06-30T00:00:00\+00:00; ask for a later time"):
        why(pack, STORED / "data", "244", DAY - timedelta(seconds=1))


def test_rows_that_could_not_be_read_are_counted(tmp_path: Path) -> None:
    ship = Source("ship", key="id", id=int, length=metres)
    pack = RulePack("port", subject=ship)
    with pack:
        require(ship.length <= 100 * metres)
    (tmp_path / "ship.csv").write_text("time,id,length\n2020-06-30T00:00Z,7,12\n2020-06-30T00:01Z,7,long\n")

    answer = why(pack, tmp_path, "7", DAY + timedelta(hours=1))

    assert (answer.unread, answer.data()["unread"]) == (1, 1)
    assert told(answer).endswith("Of what was observed, rows that could not be read and did not count: 1.")


@pytest.mark.parametrize("rows", ["", "2020-06-30T00:00Z,8,12\n"], ids=["none", "of another"])
def test_who_is_known_by_rows_alone_that_could_not_be_read_is_not_just_unknown(tmp_path: Path, rows: str) -> None:
    ship = Source("ship", key="id", id=int, length=metres)
    pack = RulePack("port", subject=ship)
    with pack:
        require(ship.length <= 100 * metres)
    (tmp_path / "ship.csv").write_text(f"time,id,length\n{rows}2020-06-30T00:01Z,7,long\n")

    with pytest.raises(InvalidArgument, match=r"could not be read: 1, the first ship.csv, row \d: length:"):
        why(pack, tmp_path, "7", DAY + timedelta(hours=1))


def test_what_is_infinite_is_a_text_in_json(tmp_path: Path) -> None:
    """`Infinity` is none of JSON's numbers: what reads the answer refused all of it."""
    ship = Source("ship", key="id", id=int, length=metres, heading=degrees)
    pack = RulePack("port", subject=ship)
    with pack:
        require(ship.length <= 100 * metres)
        require(between(ship.heading, 0 * degrees, 90 * degrees))
    moment = pa.array([DAY], pa.timestamp("us", "UTC"))
    row = {"time": moment, "id": [7], "length": [float("inf")], "heading": [float("-inf")]}
    pq.write_table(pa.table(row), tmp_path / "ship.parquet")

    data = why(pack, tmp_path, "7", DAY).data()
    json.dumps(data, allow_nan=False)
    length, heading = data["requirements"]
    assert (length["values"][0]["value"], length["margin"]) == ("inf", {"value": "-inf", "unit": "m"})
    assert (heading["values"][0]["value"], heading["margin"]) == ("-inf", None)


def test_a_log_or_a_folder_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert ask(packs=tmp_path / "none.jsonl") == 2
    assert "expected a log of packs but there is none" in capsys.readouterr().err
    (tmp_path / "empty.jsonl").touch()
    assert ask(packs=tmp_path / "empty.jsonl") == 2
    told = "2020-06-30T06:30:00+00:00 but it has none yet; log one with PackLog.add, or name a file with --rules\n"
    assert capsys.readouterr().err.endswith(told)
    assert ask(at="2019-06-30T06:30Z") == 2
    assert capsys.readouterr().err.endswith(" on; ask for a later time\n")
    assert main(["why", "--subject", "7", "--at", "2020-06-30", "--rules", str(tmp_path), "--data", str(tmp_path)]) == 2
    assert f"{tmp_path}: Is a directory; name a file of rules" in capsys.readouterr().err


def test_nothing_that_is_printed_has_a_control_character(capsys: pytest.CaptureFixture[str]) -> None:
    for more in ([], ["--all"], ["--json"]):
        assert ask(*more, subject="249", at="2020-06-30T13:30Z") == 0
        assert all(line.isprintable() for line in capsys.readouterr().out.splitlines())
