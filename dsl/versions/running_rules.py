"""Rules at work in this process, which can be changed between two pushes without losing what is known.

Changing the rules at any moment is starting afresh with the new ones over the same history of the sources that are
kept: all that the rules at first declare, whether they read them yet or not. The verdicts that are others now are told
at once. What cannot be carried over is refused with the reason, and leaves everything as it was.

For a query on Spark rules are published: in a folder of changes, a file each, which it reads as a stream. A file has
one line, that of a log of packs (`pack_logs`), with the columns that `correlate_frames` wants of ``changes=``: ``at``
and ``text``. So who changed what, and when, stays with the change.

Invariant: a published file is there whole or not at all, and is never changed.

Source: `cartesius.engines.rule_changes`, which says what may change; on Spark `RulePack.live` does the same.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from cartesius import Engine
from cartesius.engines.rule_changes import gone_on, objection
from cartesius.errors import CartesiusError, InvalidArgument, SnapshotMismatch, near, shortened
from dsl.refusals.errors import InvalidRule, refusal
from dsl.rule_packs import RulePack
from dsl.versions.pack_logs import LoggedPack, logged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius import Event
    from cartesius.language.lenience import OnError
    from dsl.versions.followed_rules import FollowedRules
    from dsl.versions.pack_logs import PackLog

_SHOWN: Final = 400
"""How much a refusal shows of what differs, in characters."""


@final
class RunningRules:
    r"""A pack that judges what is pushed, and can be changed.

    >>> from dsl import RulePack
    >>> from dsl.versions import RunningRules
    >>> head = "pack: port\nsubject: vessel\nsource vessel by mmsi:\n    mmsi: number\n    draught: metres\n"
    >>> deep, deeper = (RulePack.from_text(head + f"draught must be at most {most} m") for most in (15, 12))
    >>> rules = RunningRules(deep)
    >>> [event.value.value.status for event in rules.push("vessel", {"mmsi": 1, "draught": 14.0}, at=1)]
    ['allowed']
    >>> [event.value.value.status for event in rules.change(deeper)]
    ['restricted']

    Args:
        pack: The rules at first.
        on_error: As for `Engine`.
    """

    def __init__(self, pack: RulePack, *, on_error: OnError = "fail") -> None:
        """Begin without any rows."""
        self._on_error: OnError = on_error
        self.pack = pack.over(pack.kept)
        """The rules in force."""
        self._engine = Engine(self.pack.table(), on_error=on_error)

    def push(self, source: str, row: Any, at: int | datetime | None = None) -> list[Event]:
        """Push a row of the source of that name, as `Engine.push` does, and return the verdicts that change.

        Raises:
            InvalidArgument: No source of that name is kept; else as `Engine.push`.
        """
        input_ = self._engine.inputs.get(source)
        if input_ is None:
            known = ", ".join(self.sources)
            message = f"push: expected the name of a source ({known}) but got {source!r}{near(source, self.sources)}"
            raise InvalidArgument(message)
        return self._engine.push(input_, row, at=at)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources whose rows are kept."""
        return tuple(self._engine.inputs)

    def advance(self, time: int | datetime) -> list[Event]:
        """Move the clock, as `Engine.advance` does."""
        return self._engine.advance(time)

    def verdicts(self) -> dict[Any, Any]:
        """Return the present verdicts, by subject."""
        return self._engine.query(self.pack.table())

    def change(self, pack: RulePack) -> list[Event]:
        """Go on with other rules, and return the verdicts that are others by them, at the latest time seen.

        Raises:
            InvalidRule: What the new rules need was not kept, or a new rule raises on what is there. The rules before
                go on, as if nothing had been tried.
        """
        return self._followed_by(*self._following(pack))

    def _followed_by(self, now: RulePack, engine: Engine, events: list[Event]) -> list[Event]:
        self._engine, self.pack = engine, now
        return events

    def _following(self, pack: RulePack) -> tuple[RulePack, Engine, list[Event]]:
        """Return what goes on with other rules, and what is told by that; these go on meanwhile."""
        now = going_on(pack, self.pack)
        self._engine._settle()  # the objects are what is saved; it changes no state
        try:
            engine, events = gone_on(self._engine, (now.table(),), None, self._on_error)
        except Exception as error:
            what = f"a rule raises on what is there: {type(error).__name__}: {error}"
            fix = "guard the rule, or run with on_error='unknown'"
            raise InvalidRule(_refusal(pack, self.pack, what, fix)) from error
        return now, engine, events

    def follow(
        self, rules: FollowedRules, log: PackLog | None = None, *, at: datetime | None = None, who: str | None = None
    ) -> list[Event]:
        """Look at a file of rules, and go on with what it has now; return the verdicts that are others by that.

        What is wrong with it, or cannot be carried over, is told in ``rules.refused``; the rules before go on.

        Raises:
            InvalidArgument: There is a log, and no time ``at`` from which on the new rules hold.
            OSError: The log cannot be written. The rules before go on then, and the next look tries again.
        """
        pack = rules.changed()
        if pack is None:
            return []
        try:
            found = self._following(pack)
        except CartesiusError as error:
            rules.refuse(str(error))
            return []
        if log is not None:
            try:
                log.add(pack, at=at, who=who)  # type: ignore[arg-type]  # None is refused there
            except BaseException:
                rules.look_again()
                raise
        return self._followed_by(*found)

    def snapshot(self) -> bytes:
        """Return all that is known, with the rules in force, as bytes."""
        head = {"rules": self.pack.to_text(), "kept": [source.name for source in self.pack.kept]}
        return json.dumps(head).encode() + b"\n" + self._engine.snapshot()

    @classmethod
    def restore(cls, blob: bytes, *, on_error: OnError = "fail") -> RunningRules:
        """Return what a snapshot holds, ready to go on.

        Raises:
            SnapshotMismatch: The bytes are damaged.
        """
        head, _, state = blob.partition(b"\n")
        try:
            said: Mapping[str, Any] = json.loads(head)
            pack = RulePack.from_text(said["rules"])
            kept = {source.name: source for source in pack.kept}
            pack = pack.over(tuple(kept[name] for name in said["kept"]))
        except (ValueError, KeyError, TypeError, CartesiusError) as error:
            message = f"restore: expected what RunningRules.snapshot returned but got {blob[:40]!r}"
            raise SnapshotMismatch(message) from error
        found = cls(pack, on_error=on_error)
        found._engine = Engine.restore(state, found.pack.table(), on_error=on_error)
        return found


def going_on(pack: RulePack, before: RulePack) -> RulePack:
    """Return a pack as one that goes on with the state of another, whatever that is.

    Args:
        pack: The pack.
        before: The other one, over the sources that are kept (`RulePack.over`).

    Raises:
        InvalidRule: It cannot.
    """
    now = pack.over(before.kept)
    if reason := objection((before.table(),), (now.table(),)):
        what = "other things have to be remembered for it, as what only asks, or a rule that compares with now, counts"
        fix = "start again, and push the history"
        message = _refusal(pack, before, f"{what} rows or is about pairs, is new, gone or changed", fix)
        raise InvalidRule("\n".join([message, f"  in detail: {shortened(reason, _SHOWN)}"]))
    return now


def _refusal(pack: RulePack, before: RulePack, why: str, fix: str) -> str:
    summary = f"change: version {pack.version} cannot go on with the state of version {before.version}: {why}"
    return refusal(summary, [("fix", fix)], place="")  # the line that is to be changed is in no program


CHANGE_COLUMNS: Final = "at timestamp, version string, changed timestamp, who string, text string"
"""The columns of the files, as Spark writes a schema: ``spark.readStream.schema(CHANGE_COLUMNS).json(folder)``."""


def publish(
    pack: RulePack | str, folder: str | Path, *, at: datetime | None = None, who: str | None = None
) -> LoggedPack:
    r"""Write a pack into a folder of changes, and return what was written.

    >>> from tempfile import TemporaryDirectory
    >>> from dsl.versions import publish
    >>> head = "pack: port\nsubject: vessel\nsource vessel by mmsi:\n    mmsi: number\n    draught: metres\n"
    >>> with TemporaryDirectory() as folder:
    ...     publish(head + "draught must be at most 15 m", folder, who="eva").who
    'eva'

    Args:
        pack: The pack, or its text.
        folder: The folder; it is made if it is not there.
        at: When it was changed, with a time zone: of two changes that one micro-batch finds the later one is used last.
            None: now.
        who: Who changed the rules; None: the user of this process.

    Raises:
        InvalidRule: The text is none of rules, or the pack has no text.
        InvalidArgument: A time has no time zone.
        OSError: The file cannot be written.
    """
    now = datetime.now(UTC)
    found = logged(pack, at=now if at is None else at, who=who, changed=now)
    there = Path(folder)
    there.mkdir(parents=True, exist_ok=True)
    file = there / f"{found.changed:%Y%m%dT%H%M%S.%f}-{found.version}.json"
    unfinished = there / f".{file.name}"  # Spark does not read what begins like this
    unfinished.write_text(found.line + "\n", encoding="utf-8")
    unfinished.rename(file)
    return found
