r"""Messages: what an alert may be about, an occasion, as a line, a text and an object in JSON.

Names come from transmitters, so no text here has a control character, and none is longer than `LONGEST`.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.drawing.markup import visible

if TYPE_CHECKING:
    from datetime import datetime


@attrs.frozen
class Occasion:
    """A verdict that has changed, or that forecasts say will.

    >>> from datetime import UTC, datetime
    >>> Occasion(244660000, "ANNA", datetime(2020, 6, 30, 14, tzinfo=UTC), "restricted", ("clearance",)).status
    'restricted'
    """

    subject: str | int
    """The subject's key."""
    name: str
    """What it is called, by whoever transmitted that."""
    time: datetime
    """When the verdict changed, or at which instant the forecasts were looked at."""
    status: str
    """What it is then: allowed, restricted, unknown, or what else the feed says, such as gone."""
    failed: tuple[str, ...] = ()
    """What fails: the names of requirements, in the order of the rules."""
    missing: tuple[str, ...] = ()
    """What was missing to decide others."""
    why: tuple[str, ...] = ()
    """For people: of each requirement that fails, its reason with value, limit and margin."""
    place: str | None = None
    """Where the subject is, or is bound for."""
    pack: str = ""
    """The version of the rules that say so."""
    foreseen: datetime | None = None
    """For when it is foreseen; None: it is so."""
    before: str | None = None
    """Of what is foreseen: the status until then."""
    nothing_ahead: bool = False
    """The forecasts were looked at, and foresee no change: what was told of before is over."""


LONGEST: Final = 200
"""Characters that any one text from outside may have."""
MOST: Final = 20
"""How many reasons a message names."""


@attrs.frozen
class Message:
    """An alert for one target.

    Args:
        id: What tells it from others: 32 hex digits.
        line: What it is about, in one line.
        body: The same as an object in JSON.
    """

    id: str
    line: str
    body: str

    @classmethod
    def about(cls, occasion: Occasion, subscription: str, target: str) -> Message:
        r"""Return what a target of a subscription is told; the same for the same, whenever it is asked.

        >>> from datetime import UTC, datetime
        >>> from dsl.alerts import Occasion
        >>> noon = datetime(2020, 6, 30, 12, tzinfo=UTC)
        >>> message = Message.about(Occasion(7, "EVA\r\nBcc: all", noon, "restricted", ("wind",)), "pilots", "office")
        >>> print(message.line)
        EVA\r\nBcc: all (7) is restricted since 2020-06-30 12:00 UTC: wind
        """
        what: dict[str, Any] = {
            "subscription": subscription,
            "subject": occasion.subject if isinstance(occasion.subject, int) else plain(occasion.subject),
            "name": plain(occasion.name),
            "time": occasion.time.isoformat(),
            "status": plain(occasion.status),
            "foreseen": None if occasion.foreseen is None else occasion.foreseen.isoformat(),
            "failed": [plain(each) for each in occasion.failed[:MOST]],
            "missing": [plain(each) for each in occasion.missing[:MOST]],
            "why": [plain(each) for each in occasion.why[:MOST]],
            "place": None if occasion.place is None else plain(occasion.place),
            "pack": plain(occasion.pack),
        }
        # Margins are shown, no more; and what is foreseen is the same whenever the forecasts are looked at.
        shown = dict.fromkeys(("why", "time") if occasion.foreseen else ("why",))
        told_apart = json.dumps([target, {**what, **shown}], sort_keys=True)
        id_ = sha256(told_apart.encode()).hexdigest()[:32]
        return cls(id_, line_of(what), json.dumps({"id": id_, **what}))

    @property
    def text(self) -> str:
        """The message for people, in a few lines."""
        what = json.loads(self.body)
        where = [] if what["place"] is None else [f"Place: {what['place']}"]
        lacking = [f"Not known: {', '.join(what['missing'])}"] if what["missing"] else []
        version = [f"Rules: version {what['pack']}"] if what["pack"] else []
        asked = [f"You are told because of the subscription {what['subscription']!r}. Alert {self.id}"]
        reasons = [f"- {each}" for each in what["why"]]
        return "\n".join([self.line, "", *reasons, *lacking, *where, *version, *asked, ""])


def line_of(what: dict[str, Any]) -> str:
    """Return the line that tells what happened, from the object of a message."""
    who = f"{what['name'] or 'unnamed'} ({what['subject']})"
    time = what["foreseen"] or what["time"]
    when = f"{time[:10]} {time[11:16]} UTC"
    verb = "is foreseen to become" if what["foreseen"] else "is"
    since = f"at {when}" if what["foreseen"] else f"since {when}"
    reasons = ", ".join(what["failed"] or what["missing"])
    return f"{who} {verb} {what['status']} {since}" + (f": {reasons}" if reasons else "")


def plain(text: str, longest: int = LONGEST) -> str:
    r"""Return a text from outside as one that does nothing: in one line, without control characters, not too long.

    >>> print(plain("EVA\x1b[2J\n\u2028"), len(plain("x" * 10_000)))
    EVA\x1b[2J\n\u2028 200
    """
    shown = visible(text[: longest + 1])
    for end in ("\n", "\t", "\r", "\u2028", "\u2029"):  # those of lines and paragraphs are none of markup's
        shown = shown.replace(end, end.encode("unicode_escape").decode())
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
