"""The receiver of AIS: what a websocket sends, whenever it breaks, is what the file of the sentences says."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from click.testing import CliRunner

from cartesius import Engine, Event, Update
from examples import receiver
from examples.port.nmea import SentenceReader
from examples.receiver import main, message, received, replaying, ships_by_name

POSITION = "!AIVDM,1,1,,A,13u?etPv2;0n:dDPwUM1U1Cb069D,0*24"
NAMES = (
    "!AIVDM,2,1,1,A,55?MbV02;H;s<HtKR20EHE:0@T4@Dn2222222216L961O5Gf0NSQEp6ClRp8,0*1C",
    "!AIVDM,2,2,1,A,88888888880,2*25",
)
LINES = ["$GPZDA,nothing", POSITION, *NAMES, "!AIVDM,1,1,,A,damaged,0*00", POSITION]


def by_hand(lines):
    """The messages that the sentences are, read without a socket."""
    reader = SentenceReader("lines", None)
    for place, line in enumerate(lines, start=1):
        reader.read(place, line)
    return [found.mmsi for found in reader.messages]


@pytest.mark.parametrize("breaks_after", [0, 1, 2, 3])
def test_each_message_comes_once_however_often_the_connection_breaks(breaks_after):
    expected, buried = by_hand(LINES), []

    async def listen():
        found = []
        async with replaying(LINES, breaks_after=breaks_after) as address:
            heard = received(address, now=lambda: 7, buried=lambda text, reason: buried.append(text))
            async with aclosing(heard):
                async for event in heard:
                    found.append(event)
                    if len(found) == len(expected):
                        return found
        return found

    found = asyncio.run(asyncio.wait_for(listen(), 30))
    assert [event.value["mmsi"] for event in found] == expected
    assert all((event.start, event.end) == (7, 7) for event in found)
    assert buried == ["!AIVDM,1,1,,A,damaged,0*00"]


def test_a_ship_is_shown_by_its_name_once_both_are_known():
    engine = Engine(ships_by_name)
    row = {"mmsi": 1, "position": None, "speed": None, "name": None}

    def push(**values):
        return [event.value for event in engine.push(message, row | values)]

    assert push(position=(51.9, 4.1), speed=8.0) == []
    assert push(name="EVA") == [Update(1, {"name": "EVA", "position": (51.9, 4.1), "speed": 8.0})]
    (moved,) = push(position=(52.0, 4.0), speed=9.0)
    assert (moved.value["name"], moved.value["position"]) == ("EVA", (52.0, 4.0))


def test_it_runs_as_a_page_says():
    async def sends():
        yield Event({"mmsi": 1, "position": (1.0, 2.0), "speed": 3.0, "name": None}, 1, 1)
        yield Event({"mmsi": 1, "position": None, "speed": None, "name": "EVA"}, 2, 2)

    async def shown():
        return [event.value.value["name"] async for event in Engine(ships_by_name).events({message: sends()})]

    assert asyncio.run(shown()) == ["EVA"]


@pytest.mark.parametrize("address", ["foo", "127.0.0.1:1"])
def test_what_is_no_address_is_one_line(address):
    found = CliRunner().invoke(main, [address])
    assert found.exit_code == 2
    assert f"expected the address of a WebSocket, as ws://127.0.0.1:8765, but got '{address}'" in found.output


def test_it_ends_well_by_ctrl_c_as_it_says(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(receiver, "follow", interrupted)
    ended = CliRunner().invoke(receiver.main, [])
    assert (ended.exit_code, "Ctrl-C ends it\n" in ended.output, "Aborted" in ended.output) == (0, True, False)


def test_a_file_without_a_message_is_refused_and_not_waited_for(tmp_path):
    (tmp_path / "sentences.nmea").write_text("127.0.0.1 localhost\n")
    found = CliRunner().invoke(main, ["--replay", str(tmp_path / "sentences.nmea")])
    assert found.exit_code == 2
    assert "expected sentences of NMEA 0183 but none of its 1 lines is a message" in " ".join(found.output.split())
