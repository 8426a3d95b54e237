"""Rule packs: the rules about one kind of subject, with the links to whatever they observe.

A pack is opened with `with` to write rules into it; `check` judges one situation at once; `table` and `warnings` are
reactives for an engine or a cluster. The rules are checked as they are written; what they mean is in `judges`.

It is over 300 lines because it is all that users hold of a pack: what a method says of itself is longer than what it
does.

Source: thesis, chapter 2; DESIGN.md, section 6.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, final

from attrs import evolve

from cartesius import Engine
from cartesius.drawing.html_tables import paragraphs
from cartesius.language.lenience import checked_on_error
from cartesius.programs.live_programs import LiveProgram
from dsl.declarations.admission import admit_other, admit_pairs, admit_totals, refuse_endless, refuse_relations
from dsl.declarations.forecasts import refuse_bare
from dsl.declarations.sources import Source, declaration
from dsl.english.explaining import Plan
from dsl.english.sentences import Describer
from dsl.judgements.accounts import Account, Gathered, account
from dsl.judgements.clocks import comparisons_with_now, refuse_clock
from dsl.judgements.judges import Evaluations, Judge
from dsl.judgements.passing import Passing, planned, refuse_comparisons_with_now, refuse_links
from dsl.judgements.related import Related
from dsl.proofs.linting import flaws
from dsl.proofs.surroundings import nothing_required, unknown_locations, unused_sources
from dsl.refusals.errors import InvalidRule, refusal
from dsl.refusals.excerpts import is_reading
from dsl.tables.lowering import reactive, table, warnings
from dsl.tables.relation_tables import tables
from dsl.tables.situation_tables import complete_tables
from dsl.tables.situations import bare_now
from dsl.terms.links import oriented
from dsl.terms.statements import conditions, requirement_names
from dsl.terms.terms import Observation, sources
from dsl.terms.texts import text
from dsl.text.headings import Headings
from dsl.text.parsing import Page
from dsl.text.printing import Printer
from dsl.text.reading import written_pack
from dsl.writing.blocks import begin, end
from dsl.writing.checking import condition
from dsl.writing.durations import duration
from dsl.writing.fluent import Expression

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from types import TracebackType

    from cartesius import Reactive
    from cartesius.language.lenience import OnError
    from dsl.english.naming import Names
    from dsl.judgements.passing import Passage
    from dsl.meaning.evaluation import Row
    from dsl.meaning.verdicts import Verdict
    from dsl.proofs.findings import Finding
    from dsl.proofs.surroundings import Places
    from dsl.tables.relation_tables import Table
    from dsl.tables.situation_tables import Given
    from dsl.terms.statements import Statement
    from dsl.terms.terms import Declaration, Term


@final
class RulePack:
    """Rules about the rows of ``subject``; a verdict for each.

    >>> from dsl import Source, require
    >>> from dsl.units import centimetres, metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, destination=str)
    >>> berth = Source("berth", key="id", id=str, depth=metres)
    >>> port = RulePack("port", subject=vessel, links=[berth.id == vessel.destination])
    >>> with port:
    ...     require(berth.depth - vessel.draught >= 50 * centimetres, name="clearance")
    >>> ship = {"mmsi": 1, "draught": 14.8, "destination": "A"}
    >>> verdict = port.check({"vessel": ship, "berth": {"id": "A", "depth": 15.0}})
    >>> verdict.status, verdict.because[0].name
    ('restricted', 'clearance')
    >>> port.check({"vessel": ship, "berth": None}).because[0].missing
    ('berth',)

    Args:
        name: What the pack, and its table, are called.
        subject: The source that is judged, row by row; it has a key.
        location: The observation that says where a subject is, or is bound for: what `location` blocks compare with.
        links: Equalities that find the row of each other source: its key, and a term over one other source. They form a
            tree rooted at the subject.
        only: Which subjects are considered: there is a verdict unless this condition is false. It may observe what the
            rules may, and the clock. Where it observes linked sources, `query` shows a verdict as it was last emitted:
            its meaning is the present one, the values that it shows may be older.

    Raises:
        InvalidRule: The subject has no key, a link is none, or the links form no tree rooted at the subject.
    """

    def __init__(
        self,
        name: str,
        *,
        subject: Source,
        location: Expression | None = None,
        links: Iterable[Expression] = (),
        only: Expression | None = None,
    ) -> None:
        """Declare a pack without rules."""
        if not (isinstance(name, str) and name):
            raise InvalidRule(refusal(f"RulePack: expected a name but got name={name!r}"))
        if not isinstance(subject, Source) or declaration(subject).key is None:
            fix = [("fix", 'Source("vessel", key="mmsi", …)')]
            raise InvalidRule(refusal(f"RulePack {name!r}: expected a source with a key but got {subject=!r}", fix))
        self.name = name
        self._subject = declaration(subject)
        if self._subject.another_of is not None:
            fix = [("fix", f"subject={self._subject.another_of}")]
            summary = f"RulePack {name!r}: expected the subject itself but got another, {self._subject.name!r}"
            raise InvalidRule(refusal(summary, fix))
        if not isinstance(links, Iterable):
            fix = [("fix", "give a list, or leave it out where there is none: links=[berth.id == vessel.destination]")]
            raise InvalidRule(refusal(f"RulePack {name!r}: expected a list of links but got links={links!r}", fix))
        self._links = oriented(self._subject, [self._term("links", link) for link in links])
        self._used: tuple[Declaration, ...] = (self._subject, *(link.source for link in self._links))
        self._known = {source.name: source for source in self._used}
        self._statements: tuple[Statement, ...] = ()
        self._counted: dict[str, Declaration] = {}
        self._judge: Judge | None = None
        self._version: str | None = None
        self._texts: dict[tuple[Declaration, ...], str] = {}  # by what is used; copies over others share it
        self._declared: tuple[Declaration, ...] = ()
        self._table: Reactive | None = None
        self._warnings: Reactive | None = None
        self._place = None if location is None else self._term("location", location)
        for call, term in [("location", self._place), *(("a link", link.value) for link in self._links)]:
            if term is not None:
                refuse_clock(call, term)
                refuse_bare(term)
        if self._place is not None:
            self._admit(self._place)
        self._only = None if only is None else condition("only", self._term("only", only))
        if self._only is not None:
            self._admit(self._only)
            self._used = tuple(dict.fromkeys((*self._used, *sources(self._only))))

    @classmethod
    def from_text(cls, text: str, file: str = "rules") -> RulePack:
        """Return the pack that a text of rules describes (docs/how_to/rules_as_text.md).

        >>> port = RulePack.from_text('''
        ... pack: port
        ... subject: vessel
        ... source vessel by mmsi:
        ...     mmsi: number
        ...     draught: metres
        ... draught must be at most 15 m
        ... ''')
        >>> port.check({"vessel": {"mmsi": 1, "draught": 15.2}}).status
        'restricted'

        Args:
            text: Declarations and rules, one requirement a sentence.
            file: What error messages call it.

        Raises:
            InvalidRule: It is no text of rules, or says what no pack may say.
            DimensionMismatch: Operands do not fit each other.
            UnknownField: A name means nothing.
        """
        if not isinstance(text, str):
            summary = f"RulePack.from_text: expected a text of rules but got text={text!r} (type={type(text).__name__})"
            raise InvalidRule(refusal(summary, [("fix", 'Path("port.rules").read_text(encoding="utf-8")')]))
        headings = Headings(Page.parsed(text, file))
        pack = written_pack(headings, cls)
        found = map(declaration, headings.sources.values())
        pack._declared = tuple(one for one in found if one.key is None and one.another_of is None)
        return pack

    def to_text(self) -> str:
        """Return the pack as a text that `from_text` reads back as the same declarations, links and rules.

        Raises:
            InvalidRule: It cannot be written: two expressions of one name, a unit without a name, …
        """
        if self._used not in self._texts:
            whole = self._printer().whole(self.name)
            Headings(Page.parsed(whole, f"to_text of {self.name}"))
            self._texts[self._used] = whole
        return self._texts[self._used]

    def _printer(self) -> Printer:
        return Printer(self._place, self._only, self._used, self._links, self._statements)

    @property
    def kept(self) -> tuple[Declaration, ...]:
        """What is known of the sources whose rows a running pack keeps: those it uses, and those its text declares."""
        return tuple(dict.fromkeys((*self._used, *self._declared)))

    def over(self, kept: tuple[Declaration, ...]) -> RulePack:
        """Return this pack, of the same version and verdicts, as one that keeps the rows of ``kept``, in that order.

        Raises:
            InvalidRule: It reads a source of which no rows are kept, or declares one otherwise.
        """
        there = {source.name: source for source in kept}
        for source in self.kept:
            why = fix = ""
            if source.name not in there and source in self._used:
                why = f"it reads {source.name!r}, of which no rows were kept"
                fix = "declare it in the rules that a program starts with, and it is kept; start again"
            elif there.get(source.name, source) != source:
                why, fix = f"it declares {source.name!r} otherwise", "keep the declaration, or start again"
            if why:
                summary = f"change: version {self.version} cannot go on with what is kept: {why}"
                raise InvalidRule(refusal(summary, [("fix", fix)], place=""))
        found = copy(self)
        found._version, found._used, found._declared = self.version, kept, ()
        found._judge = found._table = found._warnings = None
        return found

    def live(self, *, warnings: bool = False) -> LiveProgram:
        r"""Return the pack as a program that can go on with other rules while it runs, for `correlate_frames`.

        There has to be a frame of each source that the rules declare, read or not, so that later rules can read it.

        >>> from dsl import RulePack
        >>> head = "pack: port\nsubject: vessel\nsource vessel by mmsi:\n    mmsi: number\n    draught: metres\n"
        >>> live = RulePack.from_text(head + "draught must be at most 15 m").live()
        >>> [output.name for output in live.outputs(head + "draught must be at most 12 m")]
        ['port']

        Args:
            warnings: Whether the warnings are an output beside the verdicts.

        Raises:
            InvalidRule: The pack has no text.
        """
        return LiveProgram(self.over(self.kept).to_text(), partial(_outputs, warnings=warnings))

    def __enter__(self) -> RulePack:
        """Open the pack: rules are written into it until the `with` block ends.

        Raises:
            InvalidRule: Another pack is open, or the table of this one is already made.
        """
        if self._table is not None:
            fix = [("fix", "write all rules before table() or warnings() is called")]
            raise InvalidRule(refusal(f"with {self.name}: expected a pack whose table is not made yet", fix))
        begin(self.name, self._place, self._admit)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the pack and keep its new rules; after an exception keep none of them."""
        self._statements += end(failed=kind is not None)
        observed = (source for condition in conditions(self._statements) for source in sources(condition))
        self._used = tuple(dict.fromkeys((*self._used, *(each for each in observed if each.another_of is None))))
        self._judge = self._version = None
        self._texts = {}

    @property
    def version(self) -> str:
        """What tells this pack from others: twelve hex digits of a SHA-256 of its text, as `to_text` has it.

        Layout, comments, and what is declared but not used, make no difference;
        any name, number, unit, severity or reason does: 50 cm is another text than 0.5 m. Each verdict carries it.
        A pack that has no text (two expressions of one name) is told by its declarations and rules instead.

        >>> from dsl import Source, require
        >>> from dsl.units import metres
        >>> vessel = Source("vessel", key="mmsi", mmsi=int, length=metres)
        >>> port = RulePack("port", subject=vessel)
        >>> with port:
        ...     require(vessel.length <= 100 * metres)
        >>> port.version == RulePack.from_text(port.to_text()).version == port.check({"vessel": {"length": 90}}).pack
        True
        """
        if self._version is None:
            try:
                whole = self._printer().whole(self.name)
            except InvalidRule:
                parts = (self._place, self._only, self._used, self._links, self._statements)
                whole = repr((self.name, *parts, *self._counted.values()))
            self._version = hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()[:12]
        return self._version

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The rules, as a frozen tree."""
        return self._statements

    @property
    def sources(self) -> dict[str, Reactive]:
        """The inputs by name, the subject's first: tables of mappings. Packs with equal sources share their inputs."""
        return {name: reactive(source) for name, source in self.declarations.items()}

    @property
    def declarations(self) -> dict[str, Declaration]:
        """What those inputs are declared as: their keys, and the kinds of their fields."""
        counted = (source for source in self._counted.values() if source.another_of is None)
        return {source.name: source for source in (*self._used, *counted)}

    def table(self) -> Reactive:
        """Return the table of verdicts by subject; the same one every time. It changes when a verdict's meaning does.

        >>> from dsl import Source, require
        >>> from dsl.units import metres
        >>> vessel = Source("vessel", key="mmsi", mmsi=int, length=metres)
        >>> port = RulePack("port", subject=vessel)
        >>> with port:
        ...     require(vessel.length <= 100 * metres)
        >>> port.table() is port.table()
        True
        """
        if self._table is None:
            self._table = self._lowered()
        return self._table

    def _relations(self) -> partial[list[Table]] | None:
        related = self._judgement().related
        return None if related is None else partial(tables, self.name, related, self._links)

    def warnings(self) -> Reactive:
        """Return the status changes only, one a transition: verdicts without reasons; the same reactive every time.

        >>> from cartesius import run
        >>> from dsl import Source, require
        >>> from dsl.units import knots
        >>> vessel, wind = Source("vessel", key="mmsi", mmsi=int), Source("wind", key=None, velocity=knots)
        >>> port = RulePack("port", subject=vessel)
        >>> with port:
        ...     require(wind.velocity <= 45 * knots)
        >>> ship, air = port.sources["vessel"], port.sources["wind"]
        >>> trace = [(air, {"velocity": 50}), (ship, {"mmsi": 7}), (air, {"velocity": 60}), (air, {"velocity": 20})]
        >>> [event.value.value.status for event in run(port.warnings(), trace)]
        ['restricted', 'allowed']
        """
        if self._warnings is None:
            self._warnings = warnings(self.name, self.version, self.table())
        return self._warnings

    def next_window(self, subject: Source, *, within: Expression, at: Expression | None = None) -> Reactive:
        """Return the table of the next window of each subject: when it would be allowed if it passed then.

        A window is the first `Passage` from the subject's planned instant on, in which the verdict would be allowed,
        not unknown, if that instant were another; None if there is none within the time given. It changes with the
        forecasts, the subject's row and all that the rules observe.

        >>> from cartesius import run
        >>> from dsl import Source, instant, require
        >>> from dsl.units import hours, metres
        >>> ship = Source("ship", key="id", id=int, eta=instant)
        >>> tide = Source("tide", key=None, height=metres, forecast=True)
        >>> port = RulePack("port", subject=ship)
        >>> with port:
        ...     require(tide.at(ship.eta).height >= 1 * metres)
        >>> high = {"issued": 0, "start": 7, "end": 12, "height": 2.0}
        >>> trace = [(port.sources["tide"], high), (port.sources["ship"], {"id": 1, "eta": 5})]
        >>> [event.value for event in run(port.next_window(ship, within=24 * hours), trace)]
        [Update(key=1, value=Passage(start=7, end=12))]

        Args:
            subject: The pack's subject.
            within: A time: how far from the planned instant it is looked for.
            at: The planned instant, a field of the subject; default: the one at which the rules look forecasts up.

        Raises:
            InvalidRule: Another subject, no such instant, or a rule of which it is not known when it changes next.
            DimensionMismatch: ``within`` is no time.
        """
        call = f"{self.name}.next_window"
        if not isinstance(subject, Source) or declaration(subject) != self._subject:
            fix = [("fix", f"{call}({self._subject.name}, within=24 * hours)")]
            raise InvalidRule(refusal(f"{call}: expected its subject {self._subject.name!r} but got {subject!r}", fix))
        passing = self._passing(call, within, at)
        refuse_comparisons_with_now(call, passing)
        return table(call, passing, self._links, self._only, self._relations())

    def passages(
        self,
        rows: Mapping[str, Given],
        *,
        within: Expression,
        at: Expression | None = None,
        now: int | datetime | None = None,
        on_error: OnError = "fail",
    ) -> tuple[Passage, ...]:
        """Return all passages in one situation, given as for `check`: what a picture of the windows needs.

        Args:
            rows: Source name → row, or the predictions of a forecast. The subject must have one.
            within: A time: how far from the planned instant they are looked for.
            at: The planned instant, a field of the subject; default: the one at which the rules look forecasts up.
            now: The instant at which it is judged.
            on_error: As for `check`; an instant at which a rule raises is in no passage.

        Raises:
            InvalidArgument: As for `check`.
            InvalidRule: As for `next_window`.
            DimensionMismatch: ``within`` is no time, or a value does not fit its field.
        """
        passing = self._passing(f"{self.name}.passages", within, at)
        if checked_on_error(on_error, f"{self.name}.passages") == "unknown":
            passing = passing.leniently()
        given, instant = self._situation("passages", rows, now, passing.related, on_error)
        return tuple(passing.passages(given, instant))

    def _passing(self, call: str, within: Expression, at: Expression | None) -> Passing:
        field = planned(call, self._subject, self._statements, None if at is None else self._term("at", at))
        refuse_links(call, [link.value for link in self._links], Observation(self._subject, field))
        judge = self._judgement()
        return Passing(self._used, self._statements, field, duration("within", within), judge.related)

    def check(
        self, rows: Mapping[str, Given], now: int | datetime | None = None, *, on_error: OnError = "fail"
    ) -> Verdict:
        """Judge one situation, given as a row for each source: what a test of the rules does, and the table too.

        A value is a quantity (`15 * metres`), converted to the unit of its field, or bare in that unit. A source that
        is left out, or None, has no row; a field that is left out is missing. The rows are taken as linked.

        >>> from dsl import Source, require
        >>> from dsl.units import feet, metres
        >>> vessel = Source("vessel", key="mmsi", mmsi=int, length=metres)
        >>> port = RulePack("port", subject=vessel)
        >>> with port:
        ...     require(vessel.length <= 100 * metres)
        >>> port.check({"vessel": {"length": 300 * feet}}).status, port.check({"vessel": {"length": 101}}).status
        ('allowed', 'restricted')

        Args:
            rows: Source name → row: field → value; of a forecast a list of predictions. The subject must have one. The
                rows of a source that is counted, and of the other subjects, are a list of rows: all there are; left
                out, it is not known which there are.
            now: The instant at which it is judged: a datetime with a time zone, or whole microseconds since the epoch
                (or what the engine counts in). None: the time is missing.
            on_error: What becomes of a rule that raises, as in an `Engine`: ``"fail"``, the call does; ``"unknown"``,
                the rule is undecided. Then a bare value that does not fit its field is not refused, but judged.

        Raises:
            InvalidArgument: The subject has no row, there is no such source or field, or something else than a row.
            DimensionMismatch: A value does not fit its field.
        """
        judge = self._judgement(on_error)
        given, instant = self._situation("check", rows, now, judge.related, on_error)
        return judge(*given, now=instant)

    def _situation(
        self,
        call: str,
        rows: Mapping[str, Given],
        now: int | datetime | None,
        related: Related | None,
        on_error: OnError,
    ) -> tuple[tuple[Row, ...], int | None]:
        name = f"{self.name}.{call}"
        complete_rows, tables = complete_tables(name, self._used, self._links, related, rows, on_error=on_error)
        instant = bare_now(name, now)
        given = () if related is None else related.from_rows(complete_rows, tables, instant)
        return (*complete_rows, *given), instant

    def account(
        self, rows: Iterable[tuple[Reactive, Mapping[str, Any], int]], subject: str | int, at: int
    ) -> Account | None:
        """Return how the verdict about a subject at an instant comes about, given what was observed until then.

        Every requirement is in it, also those that hold, with its values, limit and margin, and the rows that were
        looked at. It is None where there is no verdict: there is no row of the subject, or ``only`` is false of it.

        Args:
            rows: Input, row and time of each row, in order, as of `History.pushes`. Of a table the newest row of each
                key will do.
            subject: The subject's key.
            at: The instant, in microseconds since the epoch; what happens at it has happened.
        """
        judge = self._judgement()
        situations = table(
            self.name, Gathered(judge.sources, judge.statements), self._links, self._only, self._relations()
        )
        engine = Engine(situations)
        for input_, row, time in rows:
            engine.push(input_, row, at=time)
        engine.advance(at)
        found = engine.lookup(situations, subject)
        return None if found is None else account(judge, found, at)

    def lint(self, rows: Places | None = None) -> tuple[Finding, ...]:
        """Return what is wrong with the rules, as far as it is proved; the findings print well.

        A requirement or block that can never matter, requirements that cannot both hold, or of which one implies the
        other, duplicate names, unused sources, no requirement at all. The proofs are about situations of which all is
        known.

        >>> from dsl import Source, require, when
        >>> from dsl.units import metres
        >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres)
        >>> port = RulePack("port", subject=vessel)
        >>> with port, when(vessel.draught >= 15 * metres), when(vessel.draught < 10 * metres):
        ...     require(vessel.length <= 300 * metres)
        >>> [finding] = port.lint()
        >>> finding.kind, finding.text
        ('never applies', 'vessel.draught < 10 m cannot hold where vessel.draught >= 15 m')

        Args:
            rows: The places that there are, so that locations are looked at too: ids, or the rows of the source that
                the pack's ``location`` is linked to, as ``{"berth": [{"id": "A"}, …]}``.

        Raises:
            InvalidArgument: The rows are of another source, or have no key.
        """
        observed = [term for term in (self._place, self._only) if term is not None]
        unused = unused_sources(self._statements, self._links, observed)
        unknown = [] if rows is None else unknown_locations(self._statements, self._place, self._links, rows)
        idle = [] if requirement_names(self._statements) else [nothing_required(self.name)]
        return (*flaws(self._statements, self._links, self._only), *unknown, *unused, *idle)

    def explain(self) -> str:
        """Return the plan as text: how rows are found, what each rule reads, and what an event of each source costs.

        >>> from dsl import Source, require
        >>> from dsl.units import knots
        >>> vessel, wind = Source("vessel", key="mmsi", mmsi=int), Source("wind", key=None, velocity=knots)
        >>> port = RulePack("port", subject=vessel)
        >>> with port:
        ...     require(wind.velocity <= 45 * knots, name="wind")
        >>> port.explain().splitlines()[0]
        'port: judges each vessel by 1 requirement under 0 conditions'
        """
        plan = Plan(self.name, self._used, self._links, self._statements, self._only)
        return paragraphs(plan.text(self._lowered()))

    @property
    def stats(self) -> Evaluations:
        """What judging has taken so far, in this process; counted anew after rules are added."""
        return evolve(self._judgement().evaluations)

    def describe(self) -> str:
        """Return the rules as plain English, one sentence a requirement, with the table's columns: to read and to sign.

        >>> from dsl import Source, require
        >>> from dsl.units import metres
        >>> vessel = Source("vessel", key="mmsi", mmsi=int, length=metres)
        >>> port = RulePack("port", subject=vessel)
        >>> with port:
        ...     require(vessel.length <= 100 * metres, "lock", because="the lock is 110 m long", severity="critical")
        >>> print(port.describe().splitlines()[3])
          1. For every vessel: the length must be at most 100 m, because the lock is 110 m long. (lock; critical)
        """
        return paragraphs(self._describer.text())

    @property
    def names(self) -> Names:
        """How fields and named expressions are called, in `describe` and wherever else a pack is told of."""
        return self._describer.names

    @property
    def _describer(self) -> Describer:
        return Describer(self.name, self._used, self._links, self._statements, self._only)

    def __repr__(self) -> str:
        """Show name, subject and the number of statements."""
        count = len(self._statements)
        return (
            f"<rule pack {self.name} over {self._subject.name}, {count} {'statement' if count == 1 else 'statements'}>"
        )

    def _repr_html_(self) -> str:
        return paragraphs(self.describe().partition("\n\nThe columns of the table")[0])._repr_html_()

    def _lowered(self) -> Reactive:
        return table(self.name, self._judgement(), self._links, self._only, self._relations())

    def _judgement(self, on_error: OnError = "fail") -> Judge:
        if self._judge is None:
            related = Related(self._used, self._statements)
            found = related if related.has_any else None
            self._judge = Judge(self._used, self._statements, found, self._links, version=self.version)
        is_lenient = checked_on_error(on_error, f"{self.name}.check") == "unknown"
        return self._judge.leniently() if is_lenient else self._judge

    def _admit(self, term: Term, other: Declaration | None = None) -> None:
        """Refuse a term that observes a source which no link reaches, or the clock in a way that cannot be foreseen.

        In a block about pairs also ``other`` is reached. Nor may a term be endless: what reads it goes down its parts.
        """
        refuse_endless(self.name, term)
        comparisons_with_now(term, self._subject)
        refuse_bare(term)
        if other is not None:
            admit_other(self._subject, other)
            if other.name in self._known:
                summary = f"{other.name}: expected a name of its own for another {self._subject.name!r}"
                raise InvalidRule(refusal(summary, [("fix", "give two sources two names")]))
        admit_pairs(self._subject, term, other)
        for source in admit_totals(self._subject, term, {**self._counted, **self._known}):
            self._counted[source.name] = source
        for source in sources(term):
            if source == other:
                continue
            known = self._known.get(source.name)
            if known == source:
                continue
            if known is not None:
                summary = f"{text(term)}: expected the source {source.name!r} of pack {self.name!r} but got another"
                raise InvalidRule(refusal(summary, [("fix", "give two sources two names")]))
            if source.key is not None:
                summary = f"{text(term)}: expected sources that pack {self.name!r} links but got {source.name!r}"
                fix = f"add a link to the pack: links=[{source.name}.{source.key} == …]; or key=None for one row in all"
                if is_reading():
                    fix = f"say which row, below links: {source.name} {source.key} is …; or leave out by {source.key}"
                raise InvalidRule(refusal(summary, [("fix", fix)]))
            self._known[source.name] = source

    def _term(self, argument: str, given: object) -> Term:
        if not isinstance(given, Expression):
            raise InvalidRule(refusal(f"RulePack {self.name!r}: expected an expression but got {argument}={given!r}"))
        refuse_endless(self.name, given.term)
        refuse_relations(f"RulePack {self.name!r}: {argument}", given.term)
        return given.term


def _outputs(text: str, first: str, *, warnings: bool) -> list[Reactive]:
    """Return the outputs of a text, as a change of the first one."""
    found = RulePack.from_text(text).over(RulePack.from_text(first).kept)
    return [found.table(), found.warnings()] if warnings else [found.table()]
