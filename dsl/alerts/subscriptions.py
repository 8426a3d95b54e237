r"""Subscriptions: a file in TOML that says who is told of what, and where.

::

    [target.office]
    webhook = "https://office.example/alerts"
    bearer_from = "OFFICE_TOKEN"  # an environment variable

    [target.duty]
    email = "duty@port.example"
    sender = "harbour@port.example"
    server = "mail.port.example:587"
    user = "harbour"
    password_from = "MAIL_PASSWORD"

    [target.log]
    file = "alerts.jsonl"

    [[subscription]]
    name = "deep ships"
    rule = "clearance"
    within = "2 h"  # also what forecasts foresee
    to = ["office", "duty"]

A subscription without ``subject``, ``place`` or ``rule`` is about all of them; with several it is about what all of
them allow. Secrets stand in the environment: here are the names of its variables.
"""

from __future__ import annotations

import re
import tomllib
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.errors import near
from dsl.alerts.file_tables import FileTables, InvalidSubscriptions
from dsl.alerts.messages import plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dsl.alerts.messages import Occasion
    from dsl.alerts.targets import Target

LARGEST: Final = 1_000_000
"""Bytes that a file of subscriptions may have."""
_STATUSES: Final = ("allowed", "restricted", "unknown", "gone")
_SPAN: Final = re.compile(r"(\d{1,6}) *(s|min|h|d)")
_UNITS: Final = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}


@attrs.frozen
class Subscription:
    """What somebody wants to be told.

    Args:
        name: What it is called.
        to: The names of targets.
        subject: The subject's key, or its name; None: any.
        place: Where the subject is, or is bound for; None: anywhere.
        rule: A requirement that fails; None: any, or none.
        becomes: The statuses that are told; of those, where there is a rule, ``restricted`` alone.
        within: How far ahead a change that the forecasts foresee is told; None: what is foreseen is not.
    """

    name: str
    to: tuple[str, ...]
    subject: str | int | None = None
    place: str | None = None
    rule: str | None = None
    becomes: tuple[str, ...] = ("restricted",)
    within: timedelta | None = None

    @property
    def condition(self) -> str:
        """Its name with a hash of what it asks for: another in an edited file is told of what it had not been told.

        >>> Subscription("a", ("log",)).condition == Subscription("a", ("log", "duty")).condition
        True
        >>> Subscription("a", ("log",)).condition == Subscription("a", ("log",), rule="wind").condition
        False
        """
        asked = repr((self.subject, self.place, self.rule, sorted(self.becomes), self.within))
        return f"{self.name} {sha256(asked.encode()).hexdigest()[:16]}"

    def wants(self, occasion: Occasion) -> bool:
        """Return whether it is about an occasion.

        >>> from datetime import UTC, datetime
        >>> from dsl.alerts import Occasion
        >>> noon = datetime(2020, 6, 30, 12, tzinfo=UTC)
        >>> Subscription("deep", ("log",), rule="clearance").wants(Occasion(7, "", noon, "restricted", ("wind",)))
        False
        """
        if occasion.nothing_ahead or not self.concerns(occasion) or occasion.status not in self.becomes:
            return False
        if occasion.foreseen is not None and not self._is_ahead(occasion):
            return False
        return self.rule is None or self.rule in occasion.failed

    def concerns(self, occasion: Occasion) -> bool:
        """Return whether it is about the subject of an occasion."""
        mine = self.subject is None or str(self.subject) == str(occasion.subject) or _is_named(self.subject, occasion)
        return mine and (self.place is None or self.place == occasion.place)

    def _is_ahead(self, occasion: Occasion) -> bool:
        assert occasion.foreseen is not None
        is_near = self.within is not None and occasion.foreseen - occasion.time <= self.within
        return is_near and (self.rule is not None or occasion.before != occasion.status)


@attrs.frozen
class Subscriptions:
    """All that a file says.

    Args:
        targets: Where alerts go, by name.
        wanted: Who wants what, in the order of the file.
    """

    targets: Mapping[str, Target]
    wanted: tuple[Subscription, ...]

    @classmethod
    def from_file(
        cls, path: Path, environment: Mapping[str, str], words: Mapping[str, str] | None = None
    ) -> Subscriptions:
        """Read a file.

        Args:
            path: The file. A target's file is looked for from its folder.
            environment: Where the secrets are: ``os.environ``.
            words: What ``subject`` and ``place`` are called in the file: ``{"subject": "ship", "place": "berth"}``.

        Raises:
            InvalidSubscriptions: It cannot be read, says what means nothing, has a secret in it, or names a variable
                that is not set.
        """
        try:
            with path.open("rb") as file:
                data = file.read(LARGEST + 1)
        except OSError as error:
            problem = f"{path}: expected a file of subscriptions but {error.strerror}"
            raise InvalidSubscriptions(problem) from None
        if len(data) > LARGEST:
            problem = f"{path}: expected at most {LARGEST} bytes but it has more; split it"
            raise InvalidSubscriptions(problem)
        try:
            text = data.decode()
        except UnicodeError:
            problem = f"{path}: expected text in UTF-8; save it with that encoding"
            raise InvalidSubscriptions(problem) from None
        return cls.from_text(text, path, environment, words)

    @classmethod
    def from_text(
        cls, text: str, path: Path, environment: Mapping[str, str], words: Mapping[str, str] | None = None
    ) -> Subscriptions:
        """Read a text as `from_file` does the file at ``path``.

        >>> import pathlib
        >>> file = '''
        ... [target.log]
        ... file = "alerts.jsonl"
        ... [[subscription]]
        ... name = "deep"
        ... rule = "clearance"
        ... within = "2 h"
        ... to = ["log"]
        ... '''
        >>> Subscriptions.from_text(file, pathlib.Path("alerts.toml"), {}).wanted[0].within
        datetime.timedelta(seconds=7200)

        Raises:
            InvalidSubscriptions: As `from_file`.
        """
        try:
            whole = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            problem = f"{path}: expected TOML but {error}"
            raise InvalidSubscriptions(problem) from None
        reader = _Reader(path, environment, {"subject": "subject", "place": "place", **(words or {})})
        return cls(*reader.read(whole))


def _is_named(subject: str | int, occasion: Occasion) -> bool:
    return isinstance(subject, str) and subject.casefold() == occasion.name.strip().casefold()


@attrs.frozen
class _Reader(FileTables):
    """What reads the whole file.

    Args:
        words: What the subject and its place are called in it.
    """

    words: Mapping[str, str]

    def read(self, whole: dict[str, Any]) -> tuple[dict[str, Target], tuple[Subscription, ...]]:
        self.check_names("the file", whole, ("target", "subscription"))
        targets = whole.get("target", {})
        listed = whole.get("subscription", [])
        if not isinstance(targets, dict) or not all(isinstance(each, dict) for each in targets.values()) or not targets:
            self.refuse(
                "the file", "tables [target.NAME]", targets, 'write one: [target.log] and file = "alerts.jsonl"'
            )
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed) or not listed:
            self.refuse("the file", "tables [[subscription]]", listed, "write at least one")
        made = {name: self.target(f"target.{name}", given) for name, given in targets.items()}
        wanted = tuple(self.subscription(number, each, made) for number, each in enumerate(listed, 1))
        names = [each.name for each in wanted]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            self.refuse("subscription", "names that differ", twice, "call one of them something else")
        return made, wanted

    def subscription(self, number: int, given: dict[str, Any], targets: Mapping[str, Target]) -> Subscription:
        where = f"subscription {number}"
        subject, place = self.words["subject"], self.words["place"]
        self.check_names(where, given, ("name", "to", subject, place, "rule", "becomes", "within"))
        name = self.text(where, given, "name")
        to = self.texts(where, given, "to")
        for target in to:
            if target not in targets:
                fix = near(target, list(targets)).removeprefix("; ") or f"write a table [target.{plain(target)}]"
                self.refuse(where, f"names of targets ({', '.join(targets)}) in to", target, fix)
        key = given.get(subject)
        if key is not None and (not isinstance(key, str | int) or isinstance(key, bool)):
            self.refuse(where, f"{subject} to be a number or a name", key, "write one")
        becomes = self.texts(where, given, "becomes") if "becomes" in given else ("restricted",)
        for status in becomes:
            if status not in _STATUSES:
                fix = near(status, list(_STATUSES)).removeprefix("; ") or "choose some of them"
                self.refuse(where, f"becomes to be of {', '.join(_STATUSES)}", status, fix)
        if "rule" in given and "restricted" not in becomes:  # whose rule fails is restricted, so nothing would be told
            fix = "leave out rule, or becomes"
            self.refuse(where, "becomes to have restricted beside rule, which must fail", ", ".join(becomes), fix)
        within = self.span(where, given["within"]) if "within" in given else None
        return Subscription(
            name,
            to,
            key,
            self.text(where, given, place) if place in given else None,
            self.text(where, given, "rule") if "rule" in given else None,
            becomes,
            within,
        )

    def span(self, where: str, given: object) -> timedelta:
        found = _SPAN.fullmatch(given) if isinstance(given, str) else None
        if found is None:
            self.refuse(where, "within to be a time", given, 'write it as "2 h" or "90 min"')
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
