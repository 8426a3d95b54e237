"""A made-up board for tests of the office: what its server answers, and a stream that tests fill, stop and start."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from cartesius.pages.local_pages import Page, application

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

Json = dict[str, Any]

FOLDER: Final = Path(__file__).resolve().parents[3] / "examples" / "port" / "office" / "page"
SCRIPTS: Final = tuple(sorted(path.name for path in FOLDER.glob("*.js")))
START: Final = datetime(2020, 6, 30, tzinfo=UTC)
NOW: Final = START + timedelta(hours=14, minutes=5)
SECRET: Final = "secret"


def iso(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def at(text: str) -> str:
    """A time of the day, as the server writes it."""
    hours, minutes = map(int, text.split(":"))
    return iso(START + timedelta(hours=hours, minutes=minutes))


def ship(mmsi: int, name: str, status: str = "allowed", **changes: Any) -> Json:
    made: Json = {
        "mmsi": mmsi,
        "name": name,
        "status": status,
        "since": at("13:00"),
        "lon": -74.15 + mmsi % 7 * 0.03,
        "lat": 40.60 + mmsi % 5 * 0.03,
        "course": mmsi * 40 % 360,
        "speed": mmsi % 3 * 4.0,
        "seen": at("14:01"),
        "age_s": 240,
        "berth": None,
        "heads_for": None,
        "failed": [],
        "missing": [],
        "next": None,
    }
    return made | changes


CLEARANCE: Final = {
    "rule": "under-keel clearance",
    "because": "under her keel there must be 0.5 m of water",
    "value": "0.31 m",
    "limit": "0.5 m",
    "margin": "-0.19 m",
}
GUST: Final = {
    "rule": "gusts",
    "because": "gusts must be at most 45 kn",
    "value": "51 kn",
    "limit": "45 kn",
    "margin": "-6 kn",
}


def ships() -> list[Json]:
    return [
        ship(1, "ORCA", berth="elizabeth-north"),
        ship(
            2,
            "GUNVOR MAERSK",
            "restricted",
            since=at("13:18"),
            berth="elizabeth-east",
            failed=[CLEARANCE, GUST],
            next={
                "at": at("16:12"),
                "status": "allowed",
                "rule": "under-keel clearance",
                "why": "the tide rises to 0.52 m",
            },
        ),
        ship(3, "EVA", "unknown", missing=[{"rule": "under-keel clearance", "what": ["draught", "water level"]}]),
        ship(
            4,
            "STENA PARIS",
            heads_for="newark-south",
            next={"at": at("15:20"), "status": "restricted", "rule": "gusts", "why": "gusts of 48 kn are forecast"},
        ),
        ship(5, "MOONLIGHT", lon=None, lat=None, seen=None, status="unknown"),
    ]


def board(**changes: Any) -> Json:
    made: Json = {
        "last": "made-0",
        "clock": {"now": iso(NOW), "live": True, "quiet_s": 0.4, "start": iso(START), "end": at("23:59"), "speed": 60},
        "pack": {
            "version": "3f2a9c01be77",
            "since": at("09:30"),
            "who": "A. Officer",
            "changes": [
                {
                    "version": "08d1a2b3c4d5",
                    "at": at("0:00"),
                    "changed": "2020-06-29T16:00:00Z",
                    "who": "B. Officer",
                    "rules_added": ["gusts", "under-keel clearance"],
                    "rules_removed": [],
                    "rules_changed": [],
                },
                {
                    "version": "3f2a9c01be77",
                    "at": at("9:30"),
                    "changed": "2020-06-30T09:28:10Z",
                    "who": "A. Officer",
                    "rules_added": [],
                    "rules_removed": [],
                    "rules_changed": ["gusts"],
                },
            ],
        },
        "sources": [
            {"source": "vessel", "what": "AIS reports", "last": at("14:04"), "age_s": 60, "stale": False},
            {"source": "wind", "what": "wind at the airports", "last": at("11:51"), "age_s": 8040, "stale": True},
        ],
        "ships": ships(),
        "rules": [
            {"name": "gusts", "text": "wind gust must be at most 45 kn", "ships": [2]},
            {"name": "under-keel clearance", "text": "clearance must be at least 0.5 m", "ships": [2, 3]},
        ],
        "berths": [
            {"id": "elizabeth-north", "lon": -74.1415, "lat": 40.6702, "depth": 15.24, "lies": [1], "comes": []},
            {"id": "elizabeth-east", "lon": -74.1448, "lat": 40.6648, "depth": 15.24, "lies": [2], "comes": []},
            {"id": "newark-south", "lon": -74.1438, "lat": 40.6776, "depth": 15.24, "lies": [], "comes": [4]},
        ],
    }
    return made | changes


def day() -> Json:
    """A tide twice a day, every six minutes."""
    times = [START + timedelta(minutes=6 * step) for step in range(240)]
    return {
        "times": [iso(time) for time in times],
        "clearance": [round(1.2 + 0.9 * math.cos(step / 240 * 4 * math.pi), 2) for step in range(240)],
        "limit": 0.5,
        "windows": [[at("0:00"), at("4:48")], [at("7:12"), at("16:48")], [at("19:12"), at("23:54")]],
    }


class MadeUp:
    """An office without a harbour: `board` is what it answers; `past` what it answers of other moments."""

    def __init__(self, made: Json | None = None) -> None:
        self.board = made or board()
        self.past: Json = board()
        self.events: list[tuple[int, str, Json]] = []
        self.running = True
        self.silent = False
        self.asked: list[tuple[str, Json]] = []
        self.resumed: list[str] = []
        self.story: Json = {
            "changes": [
                {"time": at("1:54"), "status": "allowed", "failed": [], "missing": [], "pack": "08d1a2b3c4d5"},
                {
                    "time": at("13:18"),
                    "status": "restricted",
                    "failed": [CLEARANCE],
                    "missing": [],
                    "pack": "3f2a9c01be77",
                    "read": [
                        {"source": "tide", "key": "Bergen Point", "last": at("13:18"), "age_s": 0},
                        {"source": "wind", "key": "EWR", "last": at("12:51"), "age_s": 1620},
                    ],
                },
            ],
            "day": day(),
        }

    def send(self, kind: str, data: Json) -> int:
        """Let something happen; returns the id of the event."""
        number = len(self.events) + 1
        self.events.append((number, kind, data))
        if kind == "ship":
            others = [each for each in self.board["ships"] if each["mmsi"] != data["mmsi"]]
            self.board = self.board | {"ships": [*others, data], "last": f"made-{number}"}
        return number

    def answer_board(self, draft: Json) -> Json:
        self.asked.append(("board", draft))
        if draft.get("at") is None:
            return self.board
        return self.past | {"clock": self.past["clock"] | {"now": draft["at"], "live": False}}

    def answer_ship(self, draft: Json) -> Json:
        self.asked.append(("ship", draft))
        shown = self.board if draft.get("at") is None else self.past
        found = next((each for each in shown["ships"] if each["mmsi"] == draft["mmsi"]), None)
        return self.story | {"ship": found, "next": found and found["next"]}

    async def _stream(self, request: Request) -> Response:
        if request.headers.get("x-token") != SECRET:
            return JSONResponse({"error": "open the address that the board printed"}, 403)
        if not self.running:
            return JSONResponse({"error": "not now"}, 503)
        seen = request.headers.get("last-event-id", "")
        self.resumed.append(seen)
        return StreamingResponse(self._events(int(seen.partition("-")[2] or 0)), media_type="text/event-stream")

    async def _events(self, seen: int) -> AsyncIterator[str]:
        yield ": here\n\n"
        while self.running:
            for number, kind, data in self.events[seen:]:
                if not self.silent:
                    yield f"id: made-{number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n"
                    seen = number
            await anyio.sleep(0.01)

    def application(self) -> Starlette:
        answers = {"board": self.answer_board, "ship": self.answer_ship}
        page = application(Page(FOLDER, "the board", answers, scripts=SCRIPTS), SECRET)
        return Starlette(routes=[Route("/live", self._stream), Mount("/", page)])
