"""Raw NMEA 0183: the sentences of a file as AIS messages, and what could not be used with the reason.

A message may take several sentences. When it was received is said by a sentence of the receiver in front of it
(``$PGHP``, Gatehouse's), by its tag block (``c:``), or by what a station adds behind the checksum (seconds since the
epoch, both); else it has the last time that was said, or, before any, that at which the day begins.

Invariant: every sentence is counted once: as part of a message that is used, as a time of receipt, as of a kind that is
not used, or as a dead letter.

Source: NMEA 0183 (encapsulated sentences, checksum), ITU-R M.1371-5 (messages, "not available" values); pyais decodes.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
from pyais.exceptions import AISBaseException
from pyais.messages import AISSentence, GatehouseSentence, NMEASentenceFactory

from examples.port.cells import microseconds
from examples.port.dead_letters import DeadLetter, reason
from examples.port.derive import NO_COURSE, NO_SPEED_KN, below
from examples.port.geography import on_earth
from examples.port.tables import UnusableFile, cut_off, read_lines

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from pyais.messages import ANY_MESSAGE

    from examples.port.input_files import Values

    Slot: TypeAlias = tuple[int | None, str, str, str, int]

_POSITIONS: Final = {1, 2, 3, 18, 19, 27}
_ADDED: Final = re.compile(r"([^*]*\*[0-9A-Fa-f]{2}),(.*)")
_EPOCH_SECONDS: Final = re.compile(r"[0-9]{9,10}")
_LONGEST: Final = 5
"""Seconds after which the rest of a message in several sentences is no longer waited for."""
_BITS: Final = {1: 168, 2: 168, 3: 168, 5: 420, 18: 168, 19: 308, 24: 160, 27: 96}
"""The kinds of message that say what a ship is or where, and how long they are at least."""


@attrs.frozen
class Message:
    """A message of a ship: when it was received (microseconds since the epoch), its first line, and what it says.

    The values are bare, in knots, degrees and metres; None: not available. A field that its kind lacks is not there.
    """

    time: int
    line: int
    mmsi: int
    values: Values = attrs.field(hash=False)


@attrs.frozen
class Nmea:
    """What is in a file of sentences.

    Args:
        day: The day on which they were received.
        sentences: How many there are.
        used: How many of them make up the messages.
        times: How many are times of receipt.
        unused: How many sentences there are of each kind that is not used.
        messages: In the order of the file.
        dead: What could not be used.
        damaged: What is wrong with the file if it ends before its time; its sentences are used as far as they are good.
    """

    day: date
    sentences: int
    used: int
    times: int
    unused: Counter[str]
    messages: tuple[Message, ...]
    dead: tuple[DeadLetter, ...]
    damaged: tuple[str, ...] = ()


def read_nmea(path: Path, day: date | None = None) -> Nmea:
    """Read the sentences of a file, plain or gzipped.

    Args:
        path: The file.
        day: When they were received; None: on the day of the first time that the file says.

    Raises:
        UnusableFile: It is not there, has no AIS sentence, or says no time although ``day`` is None.
    """
    found = read_lines(path)
    reader = SentenceReader(path.name, None if day is None else microseconds(datetime.combine(day, time(), UTC)))
    for line, text in enumerate(found.lines, start=1):
        if text.strip():
            reader.read(line, text.strip())
    reader.end()
    if found.damage is not None:
        reader.bury([(len(found.lines) + 1, "")], f"the rest is lost: {found.damage}")
    if not reader.ais:
        message = f"{path}: expected AIS sentences, such as !AIVDM,1,1,,A,…, but none of its lines is one"
        raise UnusableFile(message)
    if reader.start is None:
        message = f"{path}: expected times of receipt ($PGHP, or tag blocks) but it has none; say its day with --date"
        raise UnusableFile(message)
    start = reader.start
    messages = tuple(attrs.evolve(each, time=start if each.time < 0 else each.time) for each in reader.messages)
    on = datetime.fromtimestamp(start // 1_000_000, UTC).date() if day is None else day
    damaged = () if found.damage is None else (cut_off(path, found.damage, len(found.lines)),)
    dead = tuple(reader.dead)
    return Nmea(on, reader.sentences, reader.used, reader.times, reader.unused, messages, dead, damaged)


@attrs.define
class _Part:
    """The sentences of one message so far: their lines and texts, and when the first was received."""

    time: int
    lines: list[tuple[int, str]]
    parts: list[AISSentence]


class SentenceReader:
    """Takes sentences one by one; what they make is in ``messages``, and what could not be used in ``dead``.

    Args:
        file: What dead letters call the place that the sentences come from.
        start: When the first was received, in microseconds since the epoch; None: they say it.
    """

    def __init__(self, file: str, start: int | None) -> None:
        self.file, self.start, self.now = file, start, -1 if start is None else start
        self.sentences = self.used = self.times = self.ais = 0
        self.unused: Counter[str] = Counter()
        self.messages: list[Message] = []
        self.dead: list[DeadLetter] = []
        self.waiting: dict[Slot, _Part] = {}

    def read(self, line: int, text: str) -> None:
        """Take a sentence."""
        self.sentences += 1
        if text[0] == "$" and not text.startswith("$PGHP"):
            self.unused[f"{text.partition(',')[0]}"] += 1
            return
        here = [(line, text)]
        match = _ADDED.fullmatch(text)
        bare, added = match.groups() if match else (text, "")
        try:
            sentence = NMEASentenceFactory.produce(bare.encode())
        except AISBaseException:
            self.bury(here, reason("sentence", "one of AIS, such as !AIVDM,1,1,,A,<payload>,0*<checksum>", text))
            return
        if not sentence.is_valid:
            self.bury(here, reason("checksum", "that of the sentence", text.rpartition("*")[2]))
        elif isinstance(sentence, GatehouseSentence):
            self.times += 1
            self._tell(microseconds(sentence.timestamp.replace(tzinfo=UTC)))
        elif isinstance(sentence, AISSentence):
            self.ais += 1
            self._tell(_tagged(sentence) or _seconds(added.rpartition(",")[2]))
            self._assemble(sentence, here)

    def end(self) -> None:
        """Give up what is still waiting."""
        for slot in list(self.waiting):
            self._give_up(slot)

    def bury(self, lines: list[tuple[int, str]], why: str) -> None:
        """Add a dead letter for each of the lines."""
        self.dead.extend(DeadLetter("nmea", self.file, line, why, text) for line, text in lines)

    def _tell(self, time: int | None) -> None:
        if time is not None:
            self.now = time
            self.start = time if self.start is None else self.start

    def _assemble(self, sentence: AISSentence, here: list[tuple[int, str]]) -> None:
        number, count = sentence.frag_num, sentence.frag_cnt
        slot = (sentence.seq_id, sentence.channel, sentence.talker_id, sentence.type, count)
        waiting = self.waiting.get(slot)
        if waiting is not None and (number == 1 or self.now - waiting.time > _LONGEST * 1_000_000):
            self._give_up(slot)
            waiting = None
        if number == 1:
            waiting = self.waiting[slot] = _Part(self.now, [], [])
        if waiting is None or number != len(waiting.parts) + 1:
            self.bury(here, reason("parts", "the sentences before it", f"part {number} of {count} alone"))
            return
        waiting.lines += here
        waiting.parts.append(sentence)
        if number == count:
            self._decode(self.waiting.pop(slot))

    def _give_up(self, slot: Slot) -> None:
        part = self.waiting.pop(slot)
        self.bury(part.lines, reason("parts", "all sentences of the message", f"{len(part.parts)} of {slot[-1]}"))

    def _decode(self, part: _Part) -> None:
        whole = AISSentence.assemble_from_iterable(part.parts)
        kind, bits = whole.ais_id, len(whole.bv)
        if kind in _BITS and bits < _BITS[kind]:
            self.bury(part.lines, reason("payload", f"at least {_BITS[kind]} bits of message {kind}", bits))
            return
        try:
            decoded = whole.decode()
        except AISBaseException as error:
            self.bury(part.lines, reason("payload", "an AIS message", str(error) or type(error).__name__))
            return
        if kind not in _BITS:
            self.unused[f"AIS message {kind}"] += len(part.lines)
            return
        self.used += len(part.lines)
        self.messages.append(Message(part.time, part.lines[0][0], int(decoded.mmsi), _values(decoded)))


def _tagged(sentence: AISSentence) -> int | None:
    """The time in a sentence's tag block."""
    block = sentence.tag_block
    if block is None:
        return None
    block.init()
    return _seconds(block.receiver_timestamp or "") if block.is_valid else None


def _seconds(said: str) -> int | None:
    """Seconds since the epoch in microseconds, if they are such."""
    return int(said) * 1_000_000 if _EPOCH_SECONDS.fullmatch(said) else None


def _values(decoded: ANY_MESSAGE) -> Values:
    """What a message says of a ship, by field."""
    said: dict[str, Any] = decoded.asdict(enum_as_int=True)
    values: Values = {}
    if said["msg_type"] in _POSITIONS:
        values["position"] = on_earth(said["lat"], said["lon"])
        values["speed"] = below(said["speed"], 63 if said["msg_type"] == 27 else NO_SPEED_KN)
        values["course"] = below(said["course"], NO_COURSE)
    if "status" in said:
        values["nav_status"] = said["status"]
    if "shipname" in said:
        values["name"] = _text(said["shipname"])
    if "to_bow" in said:
        values["length"] = (said["to_bow"] + said["to_stern"]) or None
        values["beam"] = (said["to_port"] + said["to_starboard"]) or None
        values["ship_type"] = said["ship_type"] or None
    if "draught" in said:
        values["draught"] = said["draught"] or None
        values["bound_for"] = _text(said["destination"])
        values["eta"] = (said["month"], said["day"], said["hour"], said["minute"])
    return values


def _text(said: str | None) -> str | None:
    return (said or "").strip(" @") or None
