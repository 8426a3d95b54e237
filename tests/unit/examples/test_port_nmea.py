"""Raw AIS messages: what is read of them, what is not, and what is said of the ships of Rotterdam.

The sentences are of our own making (`pyais` encodes them); the Danish file is used where it is there.
"""

from __future__ import annotations

import csv
import gzip
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyais import encode_dict

from examples.port.__main__ import main
from examples.port.cells import microseconds, moment
from examples.port.nmea import read_nmea
from examples.port.on_nmea import run_on_nmea
from examples.port.rotterdam import BASINS, NAMES
from examples.port.stations import arrival, destination
from examples.port.tables import UnusableFile

DANISH = Path(__file__).resolve().parents[4] / "shared" / "data" / "nmea" / "dma_2010-06-11.nmea.gz"
DAY = date(2010, 6, 11)
NO_BASIN = ("berth.depth", "berth.length_limit", "tide")
NO_TANKERS = "no tankers in the Waalhaven"
EUROPOORT, AT_SEA = (51.966, 4.110), (51.91, 2.85)


def checked(body):
    """A sentence with its checksum: all between the first character and the asterisk, exclusive or."""
    total = 0
    for character in body[1:]:
        total ^= ord(character)
    return f"{body}*{total:02X}"


def received(clock, millisecond=0):
    """The sentence in which a receiver says the time."""
    hour, minute, second = map(int, clock.split(":"))
    return checked(f"$PGHP,1,2010,6,11,{hour},{minute},{second},{millisecond},219,,2190067,1,55")


def at(place, mmsi=1, **more):
    cells = {"type": 1, "mmsi": mmsi, "lat": place[0], "lon": place[1], "speed": 0.0, "course": 90.0, "status": 5}
    return encode_dict({**cells, **more})


def ship(mmsi=1, **more):
    cells = {
        "type": 5, "mmsi": mmsi, "shipname": "ANNA", "ship_type": 70, "to_bow": 300, "to_stern": 42, "to_port": 30,
        "to_starboard": 33, "draught": 20.0, "destination": "ROTTERDAM", "month": 6, "day": 11, "hour": 20,
        "minute": 30,
    }  # fmt: skip
    return encode_dict({**cells, **more}, seq_id=3)


@pytest.fixture
def written(tmp_path):
    """Write sentences into a file."""

    def write(*sentences, name="ais.nmea"):
        path = tmp_path / name
        text = "".join(f"{each}\n" for each in sentences).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    return write


def balance(nmea):
    return nmea.used + nmea.times + sum(nmea.unused.values()) + len(nmea.dead)


# --------------------------------------------------------------------------------------------------- messages


@pytest.mark.parametrize("name", ["ais.nmea", "ais.nmea.gz"])
def test_a_position_and_static_data_are_read_in_the_units_of_the_rules(written, name):
    nmea = read_nmea(written(received("11:46:12", 390), *at(EUROPOORT), *ship(), name=name))
    position, static = nmea.messages
    assert moment(position.time) == datetime(2010, 6, 11, 11, 46, 12, 390_000, tzinfo=UTC)
    assert position.values == {"position": EUROPOORT, "speed": 0.0, "course": 90.0, "nav_status": 5}
    assert static.values == {
        "name": "ANNA",
        "length": 342,
        "beam": 63,
        "ship_type": 70,
        "draught": 20.0,
        "bound_for": "ROTTERDAM",
        "eta": (6, 11, 20, 30),
    }
    assert (nmea.sentences, nmea.used, nmea.times, nmea.dead) == (4, 3, 1, ())
    assert nmea.day == DAY


@pytest.mark.parametrize(
    ("sentences", "field"),
    [
        (at((91.0, 181.0)), "position"),
        (at(EUROPOORT, speed=102.3), "speed"),
        (at(EUROPOORT, course=360.0), "course"),
        (ship(draught=0.0), "draught"),
        (ship(to_bow=0, to_stern=0), "length"),
        (ship(to_port=0, to_starboard=0), "beam"),
        (ship(ship_type=0), "ship_type"),
        (ship(destination=""), "bound_for"),
        (ship(shipname=""), "name"),
    ],
)
def test_what_is_not_available_is_missing(written, sentences, field):
    (message,) = read_nmea(written(*sentences), DAY).messages
    assert message.values[field] is None


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({"type": 3, "lat": 52.0, "lon": 4.0, "speed": 8.0}, {"position": (52.0, 4.0), "speed": 8.0}),
        ({"type": 18, "lat": 52.0, "lon": 4.0, "speed": 8.0}, {"position": (52.0, 4.0), "speed": 8.0}),
        ({"type": 19, "lat": 52.0, "lon": 4.0, "shipname": "B", "to_bow": 8}, {"name": "B", "length": 8}),
        ({"type": 24, "partno": 0, "shipname": "B"}, {"name": "B"}),
        ({"type": 24, "partno": 1, "ship_type": 52, "to_bow": 8}, {"ship_type": 52, "length": 8}),
        ({"type": 27, "lat": 52.0, "lon": 4.0, "speed": 8}, {"position": (52.0, 4.0), "speed": 8}),
        ({"type": 27, "lat": 52.0, "lon": 4.0, "speed": 63}, {"speed": None}),
    ],
)
def test_each_kind_that_says_something_of_a_ship_is_read(written, cells, expected):
    (message,) = read_nmea(written(*encode_dict({"mmsi": 7, **cells})), DAY).messages
    assert {field: message.values[field] for field in expected} == expected
    assert message.mmsi == 7


def test_messages_of_other_kinds_and_other_sentences_are_counted(written):
    base = encode_dict({"type": 4, "mmsi": 2, "year": 2010, "month": 6, "day": 11})
    nmea = read_nmea(written(*base, checked("$GPGGA,1,2"), *at(EUROPOORT)), DAY)
    assert nmea.unused == {"AIS message 4": 1, "$GPGGA": 1}
    assert balance(nmea) == nmea.sentences == 3


def test_the_time_is_that_of_the_receiver_the_tag_block_or_the_station(written):
    sentence = at(EUROPOORT)[0]
    block = checked("\\s:station,c:1276256770").removeprefix("\\")
    nmea = read_nmea(
        written(
            sentence, f"\\{block}\\{sentence}", sentence, f"{sentence},r003,1276256775", received("11:46:20"), sentence
        )
    )
    clock = [f"{moment(message.time):%H:%M:%S}" for message in nmea.messages]
    assert clock == ["11:46:10", "11:46:10", "11:46:10", "11:46:15", "11:46:20"]
    assert nmea.dead == ()


def test_without_any_time_the_day_must_be_said(written):
    path = written(*at(EUROPOORT))
    with pytest.raises(UnusableFile, match=r"expected times of receipt .* say its day with --date"):
        read_nmea(path)
    (message,) = read_nmea(path, DAY).messages
    assert moment(message.time) == datetime(2010, 6, 11, tzinfo=UTC)


# ------------------------------------------------------------------------------------------------ dead letters


def reasons(nmea):
    return [(letter.line, letter.reason) for letter in nmea.dead]


def test_what_cannot_be_decoded_is_a_dead_letter_with_its_reason(written):
    good = at(EUROPOORT)[0]
    body, _, checksum = good.partition("*")
    short = checked(body[:-12] + ",0")
    nothing = checked("!AIVDM,1,1,,A,,0")
    unknown = checked("!AIVDM,1,1,,A,k0000000,0")
    nmea = read_nmea(written(good, "", "what?", f"{body}*00", short, nothing, unknown, "!AIVDM,1,1,,A,é,0*00"), DAY)
    form = "sentence: expected one of AIS, such as !AIVDM,1,1,,A,<payload>,0*<checksum> but got "
    (line_3, line_4, line_5, line_6, line_7, line_8) = reasons(nmea)
    assert line_3 == (3, f"{form}what?")
    assert line_4 == (4, "checksum: expected that of the sentence but got 00")
    assert checksum != "00"
    assert line_5[1].startswith("payload: expected at least 168 bits of message 1 but got ")
    assert line_6[1].startswith("payload: expected an AIS message but got ")
    assert line_7[1].startswith("payload: expected an AIS message but got ")
    assert line_8 == (8, f"{form}!AIVDM,1,1,,A,é,0*00")
    assert balance(nmea) == nmea.sentences == 7
    assert all(letter.row for letter in nmea.dead)


def test_a_message_without_all_its_sentences_is_lost_and_said_to_be(written):
    first, second = ship()
    nmea = read_nmea(written(second, first, first, second, first), DAY)
    assert len(nmea.messages) == 1
    assert reasons(nmea) == [
        (1, "parts: expected the sentences before it but got part 2 of 2 alone"),
        (2, "parts: expected all sentences of the message but got 1 of 2"),
        (5, "parts: expected all sentences of the message but got 1 of 2"),
    ]
    assert balance(nmea) == nmea.sentences


def test_messages_in_several_sentences_may_interleave(written):
    first, second = ship(1)
    other, another = encode_dict({"type": 5, "mmsi": 2, "shipname": "BERTA"}, seq_id=4)
    nmea = read_nmea(written(first, other, second, another), DAY)
    assert [(message.mmsi, message.values["name"]) for message in nmea.messages] == [(1, "ANNA"), (2, "BERTA")]


def test_the_rest_of_a_message_is_not_waited_for_long(written):
    first, second = ship()
    nmea = read_nmea(written(received("11:46:00"), first, received("11:46:06"), second))
    assert nmea.messages == ()
    assert [line for line, _ in reasons(nmea)] == [2, 4]


def test_a_file_that_is_cut_off_gives_what_is_before(written):
    path = written(*at(EUROPOORT), *at(AT_SEA, mmsi=2), name="ais.nmea.gz")
    path.write_bytes(path.read_bytes()[:-8])
    nmea = read_nmea(path, DAY)
    assert len(nmea.messages) == 2
    assert nmea.dead[-1].reason == "the rest is lost: a file that is cut off"


def test_a_file_of_something_else_is_refused(written, tmp_path):
    with pytest.raises(UnusableFile, match="expected AIS sentences, such as !AIVDM"):
        read_nmea(written("time,mmsi", "1,2"), DAY)
    with pytest.raises(UnusableFile, match="expected a file but there is none"):
        read_nmea(tmp_path / "none.nmea", DAY)


# ------------------------------------------------------------------------------- destinations and times of arrival


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("ROTTERDAM", "rotterdam"),
        ("Rotterdam", "rotterdam"),
        ("ROTTERDAM NL", "rotterdam"),
        ("ROTTERDAM, HOLLAND", "rotterdam"),
        ("ROTTERDAM OPL", "rotterdam"),
        ("NL RTM", "rotterdam"),
        ("NLRTM00124", "rotterdam"),
        ("R'DAM", "rotterdam"),
        ("ROTERDAM", "rotterdam"),
        ("ANTWERP>ROTTERDAM", "rotterdam"),
        ("BEANR=>NLRTM", "rotterdam"),
        ("ROTTERDAM EUROPOORT", "europoort"),
        ("EUROPORT", "europoort"),
        ("MAASVLAKTE", "maasvlakte"),
        ("ROTTERDAM>EEMSHAVEN", None),
        ("AMSTERDAM", None),
        ("NLHGL000814584500451", None),
        ("BUOY MAINTENANCE", None),
        ("EUROPA", None),
        (">>>", None),
        ("", None),
        (None, None),
    ],
)
def test_destinations_as_crews_type_them(typed, place):
    assert destination(typed, NAMES) == place


def test_every_spelling_means_a_place_and_is_written_as_it_is_compared():
    assert {*NAMES.values()} == {*BASINS, "rotterdam"}
    assert all(name.isalnum() and name.isupper() and name.isascii() for name in NAMES)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ((6, 12, 5, 30), "2010-06-12 05:30"),
        ((6, 5, 1, 24), "2010-06-05 01:24"),
        ((12, 30, 0, 0), "2009-12-30 00:00"),
        ((11, 30, 0, 0), "2010-11-30 00:00"),
        ((0, 0, 24, 60), None),
        ((6, 12, 24, 60), None),
        ((2, 29, 0, 0), None),
        ((13, 1, 0, 0), None),
        (None, None),
    ],
)
def test_the_year_of_an_arrival_is_the_nearest(said, expected):
    found = arrival(said, microseconds(datetime(2010, 6, 11, 11, 46, tzinfo=UTC)))
    assert (None if found is None else f"{moment(found):%Y-%m-%d %H:%M}") == expected


# --------------------------------------------------------------------------------------------------- Rotterdam


def test_the_newest_of_each_kind_counts_whatever_the_order_of_the_lines(written):
    run = run_on_nmea(
        written(
            received("11:46:30"), *ship(draught=15.0),
            received("11:46:10"), *ship(draught=20.0), *at(EUROPOORT),
            received("11:46:20"), *at(AT_SEA, speed=9.0),
        )
    )  # fmt: skip
    row = run.ships[1]
    assert (row["draught"], row["position"], row["destination"], row["direction"]) == (
        15.0,
        AT_SEA,
        "rotterdam",
        "inbound",
    )


@pytest.mark.parametrize(
    ("sentences", "status", "failed", "missing"),
    [
        # 22.65 m at Europoort is enough for 20.0 m at any tide, and for 22.15 m but no more.
        ((*ship(), *at(EUROPOORT)), "allowed", (), ()),
        ((*ship(draught=22.1), *at(EUROPOORT)), "allowed", (), ()),
        ((*ship(draught=22.3), *at(EUROPOORT)), "unknown", (), ("tide",)),
        ((*ship(draught=22.1, ship_type=80), *at(EUROPOORT)), "unknown", (), ("tide",)),
        # 23 m of approach leave 20.0 m less than a fifth of her draught.
        ((*ship(destination="EUROPOORT"), *at(AT_SEA, speed=9)), "unknown", (), ("tide",)),
        ((*ship(destination="EUROPOORT", draught=19.0), *at(AT_SEA, speed=9)), "allowed", (), ()),
        ((*ship(draught=14.0, to_stern=0), *at(AT_SEA, speed=9)), "unknown", (), NO_BASIN),
        ((*ship(draught=8.9, to_bow=200),), "allowed", (), ()),
        ((*ship(draught=8.9, to_bow=200), *at((51.885, 4.44))), "allowed", (), ()),
        ((*ship(draught=8.9, to_bow=260), *at((51.885, 4.44))), "restricted", ("length in the basin",), ()),
        ((*ship(draught=8.9, to_bow=200, ship_type=80), *at((51.885, 4.44))), "restricted", (NO_TANKERS,), ()),
    ],
)  # fmt: skip
def test_rules_of_rotterdam(written, sentences, status, failed, missing):
    change = run_on_nmea(written(*sentences), DAY).log.last[1]
    assert (change.status, change.because, change.missing) == (status, failed, missing)


def test_ships_of_other_ports_are_not_judged(written):
    run = run_on_nmea(written(*ship(destination="HAMBURG"), *at(AT_SEA, 2), *ship(3)), DAY)
    assert (list(run.ships), run.later, run.elsewhere) == ([3], 0, 2)


def test_a_ship_that_turns_to_another_port_is_judged_no_more(written):
    run = run_on_nmea(written(*ship(), *ship(destination="HAMBURG")), DAY)
    assert (run.ships, run.elsewhere) == ({}, 1)
    assert len(run.log.changes) == 1


@pytest.mark.parametrize(
    ("eta", "status", "failed"),
    [
        ({"day": 12, "hour": 0, "minute": 0}, "allowed", ()),  # 24 hours ahead
        ({"day": 10, "hour": 0, "minute": 0}, "allowed", ()),
        ({"day": 9, "hour": 23, "minute": 59}, "restricted", ("time of arrival kept up",)),
        ({"day": 0, "month": 0, "hour": 24, "minute": 60}, "restricted", ("time of arrival",)),
    ],
)
def test_times_of_arrival(written, eta, status, failed):
    change = run_on_nmea(written(*ship(draught=5.0, to_bow=50, **eta)), DAY).log.last[1]
    assert (change.status, change.because, change.missing) == (status, failed, ())


def test_a_ship_that_arrives_later_than_in_a_day_is_not_judged_yet(written):
    run = run_on_nmea(written(*ship(day=12, hour=0, minute=1)), DAY)
    assert (run.ships, run.later) == ({}, 1)
    run = run_on_nmea(written(*ship(day=12, hour=0, minute=1), *at(EUROPOORT)), DAY)
    assert [*run.ships] == [1]  # she lies here already


def test_a_ship_under_way_in_the_port_that_says_nothing_is_unknown(written):
    change = run_on_nmea(written(*at(EUROPOORT, speed=9.0)), DAY).log.last[1]
    assert change.status == "unknown"
    assert {"vessel.destination", "vessel.draught"} <= {*change.missing}


# ------------------------------------------------------------------------------------------------- the command


def command(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_the_command_writes_verdicts_and_dead_letters_and_says_what_became_of_each_sentence(written, tmp_path):
    path = written(received("11:46:12"), *ship(), *at(EUROPOORT), "junk", name="ais.nmea.gz")
    result = command("--nmea", path, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    (first,) = pq.read_table(tmp_path / "out" / "verdicts.parquet").to_pylist()[-1:]
    assert (first["mmsi"], first["name"], first["status"]) == (1, "ANNA", "allowed")
    with (tmp_path / "out" / "dead_letters.csv").open() as file:
        (letter,) = csv.DictReader(file)
    assert (letter["source"], letter["file"], letter["line"], letter["row"]) == ("nmea", "ais.nmea.gz", "5", "junk")
    for said in ("ANNA", "2010-06-11", "3, which are 2 messages", "1 judged", "1 x nmea: sentence:", "are assumed"):
        assert said in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nmea", "{}", "--pack", "A"], "--pack is of use without --nmea only"),
        (["--date", "2010-06-11"], "--date is of use with --nmea only"),
        (["--nmea", "/nowhere"], "'/nowhere' does not exist"),
        (["--nmea", "{}"], "expected AIS sentences"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(written, tmp_path, arguments, said):
    path = written("junk")
    result = command(*(argument.format(path) for argument in arguments), "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.skipif(not DANISH.exists(), reason=f"no {DANISH}: the file is not part of the project")
def test_the_danish_file_of_2010():
    run = run_on_nmea(DANISH)
    nmea = run.nmea
    assert nmea.day == DAY
    assert (nmea.sentences, nmea.times, len(nmea.messages)) == (8551, 4051, 3486)
    assert balance(nmea) == nmea.sentences
    berge_stahl = next(mmsi for mmsi, row in run.ships.items() if row["name"] == "BERGE STAHL")
    row, verdict = run.ships[berge_stahl], run.log.last[berge_stahl]
    assert (row["length"], row["draught"], row["destination"], row["direction"]) == (342, 20.0, "europoort", "moored")
    assert verdict.status == "allowed"
    assert {run.log.last[mmsi].status for mmsi, row in run.ships.items() if row["draught"] is None} == {"unknown"}
