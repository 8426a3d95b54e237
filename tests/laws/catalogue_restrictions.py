"""How each restriction is drawn: its text for the slots of a correlation, with what it cannot be without."""

from __future__ import annotations

from tests.laws.catalogue import Refused, Sketch, restriction

# ------------------------------------------------------------------------------------------------------------- memory


@restriction("most_recently", "recency")
def most_recently(sketch: Sketch) -> str:
    return f"most_recently({sketch.some()}{sketch.of('', '', ', n=2', ', n=3')})"


@restriction("earliest", "recency")
def earliest(sketch: Sketch) -> str:
    return f"earliest({sketch.some()}{sketch.of('', ', n=2', ', n=5')})"


@restriction("momentarily", "duration")
def momentarily(sketch: Sketch) -> str:
    return f"momentarily({sketch.one()})"


@restriction("within", "duration")
def within(sketch: Sketch) -> str:
    return f"within({sketch.time(2, 4, 8)}, {sketch.all() if sketch.chance(0.7) else sketch.some(2)})"


@restriction("separately", "duration")
def separately(sketch: Sketch) -> str:
    sketch.conditions = ["True"]
    sketch.maybe |= set(sketch.slots)
    return "separately()" + sketch.of("", f" | {sketch.write('momentarily')}({sketch.all()})")


@restriction("affinely", "consumption")
def affinely(sketch: Sketch) -> str:
    return f"affinely({sketch.some()})"


@restriction("at_most", "consumption")
def at_most(sketch: Sketch) -> str:
    return f"at_most({sketch.of(1, 2, 3)}, {sketch.some()})"


def _context(name: str) -> None:
    @restriction(name, "consumption")
    def context(sketch: Sketch) -> str:
        if len(sketch.slots) < 2 or sketch.lists:
            raise Refused
        if name == "cumulative":
            sketch.lists.add(sketch.slots[0])
        return f"{name}({sketch.slots[0]!r}, {sketch.slots[1]!r})"


for _name in ("chronicle", "continuous", "cumulative", "recent"):
    _context(_name)


@restriction("key_by", "keys")
def key_by(sketch: Sketch) -> str:
    kind = sketch.of("k", "k", "k", "j")
    slots = sketch.slots if sketch.is_keyed or sketch.chance(0.8) else sketch.slots[:1]
    if sketch.is_keyed:
        kind = "k"
    both = "lambda row: (row.k, row.j)"
    if not sketch.is_keyed and sketch.chance(0.1):
        return f"key_by({', '.join(f'{slot}={both}' for slot in slots)})"
    if not sketch.is_keyed and sketch.chance(0.1):
        fields = [(slot, sketch.of("k", "j")) for slot in slots]
        return f"key_by({', '.join(f'{slot}={field!r}' for slot, field in fields)})"
    keys = [f"{slot}={kind!r}" if sketch.chance(0.9) else f"{slot}=lambda row: row.{kind}" for slot in slots]
    return f"key_by({', '.join(keys)})"


# -------------------------------------------------------------------------------------------------------------- gates


@restriction("aligning", "gates")
def aligning(sketch: Sketch) -> str:
    slots = sketch.all() if sketch.chance(0.8) else sketch.some(2)
    text = f"aligning({slots}{sketch.of('', '', '', ', limit=2', ', limit=1, overflow=' + repr('drop_oldest'))})"
    if sketch.chance(0.6):
        text += f" | {sketch.write('most_recently')}({sketch.all()})"
    return text


@restriction("in_event_time", "gates")
def in_event_time(sketch: Sketch) -> str:
    return f"in_event_time({sketch.time(0, 2, 4)})"


@restriction("by_arrival", "gates")
def by_arrival(sketch: Sketch) -> str:
    return f"by_arrival({sketch.some()})"


@restriction("only", "gates")
def only(sketch: Sketch) -> str:
    value = sketch.of("row.n % 2 == 0", "row.k != 1", "row.k <= 1", "row.k == row.j", "size(row) % 3 != 0")
    return f"only({sketch.one()}, lambda row: {value})"


@restriction("every_nth", "gates")
def every_nth(sketch: Sketch) -> str:
    return f"every_nth({sketch.of(2, 2, 3)}{sketch.of('', ', ' + sketch.one(), ', ' + sketch.all())})"


@restriction("take", "gates")
def take(sketch: Sketch) -> str:
    return f"take({sketch.of(1, 2, 5)}{sketch.of('', ', ' + sketch.one(), ', ' + sketch.all())})"


# --------------------------------------------------------------------------------------------------- order of results


@restriction("fifo", "selection")
def fifo(sketch: Sketch) -> str:
    return "fifo()"


@restriction("lifo", "selection")
def lifo(sketch: Sketch) -> str:
    return "lifo()"


@restriction("first_match", "selection")
def first_match(sketch: Sketch) -> str:
    return "first_match()"


@restriction("ordered_by", "selection")
def ordered_by(sketch: Sketch) -> str:
    return f"ordered_by(lambda match: {sketch.of('size(match.value)', 'match.start', '-size(match.value) % 5')})"


@restriction("randomly", "selection")
def randomly(sketch: Sketch) -> str:
    return f"randomly({sketch.of(1, 7)})"


# -------------------------------------------------------------------------------------------------- results and tables


@restriction("retracting", "results")
def retracting(sketch: Sketch) -> str:
    return "retracting()"


@restriction("as_table", "results")
def as_table(sketch: Sketch) -> str:
    sketch.kind = "rows"
    key = sketch.of("lambda row: size(row) % 3", "lambda row: 'one'")
    if sketch.sources[0] in ("t", "u") and sketch.chance(0.5):
        key = repr(sketch.slots[0])
    return f"as_table({key})" + (f" | {sketch.write('retracting')}()" if sketch.chance(0.5) else "")


@restriction("optionally", "results")
def optionally(sketch: Sketch) -> str:
    if len(sketch.slots) < 2:
        raise Refused
    missing = sketch.slots[1:] if sketch.chance(0.8) else sketch.slots
    sketch.maybe |= set(missing)
    bound = f"{sketch.write('within')}({sketch.time(1, 3)}, {sketch.all()})"
    return f"optionally({sketch.quoted(missing)}) | {sketch.of(sketch.write('retracting') + '()', bound)}"


@restriction("versioned", "versions")
def versioned(sketch: Sketch) -> str:
    last, retention = sketch.slots[-1], sketch.time(0, 2, 5, 20)
    ties = sketch.of("", "", "", ", ties='n'", ", ties='arrival'", ", ties=lambda row: -row.n")
    if sketch.chance(0.3):  # of events, each the version of its key: results are facts, and events may be used up
        return f"versioned({sketch.all() if sketch.chance(0.5) else repr(last)}, retention={retention}{ties})"
    sketch.sources[-1] = sketch.table()
    if len(sketch.slots) > 1:
        sketch.conditions.append(f"{sketch.slots[0]}.k == key_{last}")
    more = "" if sketch.chance(0.5) else f" | {sketch.write('optionally')}({last!r})" * (len(sketch.slots) > 1)
    if more:
        sketch.maybe.add(last)
    return f"versioned({last!r}, retention={retention}{ties}) | {sketch.write('retracting')}()" + more


# ----------------------------------------------------------------------------------------- what follows, what is absent


@restriction("in_sequence", "sequences")
def in_sequence(sketch: Sketch) -> str:
    if len(sketch.slots) < 2:
        raise Refused
    slots = sketch.slots if sketch.chance(0.8) else sketch.slots[::-1]
    contiguity = sketch.of("", "", ", contiguity='strict'", ", contiguity='any'")
    after = sketch.of("", "", "", ", after_match='past_last'", ", after_match='to_next'")
    if sketch.chance(0.1):
        after = f", after_match=({sketch.of('to_first', 'to_last')!r}, {sketch.draw.choice(slots)!r})"
    return f"in_sequence({sketch.quoted(slots)}{contiguity}{after})"


@restriction("without", "absence")
def without(sketch: Sketch) -> str:
    absent = sketch.draw.choice(["in0", "in1", "in2"])
    keys = ""
    if len(sketch.slots) > 2 and sketch.chance(0.5):
        sketch.maybe.add(sketch.slots[2])
        absent = repr(sketch.slots[2])
    elif sketch.chance(0.4):
        pairs = ", ".join(f"{slot}='k'" for slot in [*sketch.slots, absent])
        keys = f"{sketch.write('key_by')}({pairs}) | "
    if len(sketch.slots) > 1 and sketch.chance(0.3):
        return f"{keys}without({absent}, between=({sketch.slots[0]!r}, {sketch.slots[1]!r}))"
    when = sketch.of("after", "before")
    return f"{keys}without({absent}, {when}={sketch.slots[0]!r}, within={sketch.time(1, 2, 4)})"


# --------------------------------------------------------------------------------------------- lists, and what is said


@restriction("repeated", "lists")
def repeated(sketch: Sketch) -> str:
    sketch.lists.add(sketch.slots[-1])
    sketch.sources[-1] = f"repeated({sketch.sources[-1]}, {sketch.of(2, 2, 3)})"
    return ""


@restriction("one_or_more", "lists")
def one_or_more(sketch: Sketch) -> str:
    where = sketch.of("", ", where=lambda run: len(run) == 1 or run[-1].n > run[-2].n", ", contiguity='strict'")
    within_ = sketch.of("", f", within={sketch.time(2, 4)}")
    sketch.lists.add(sketch.slots[-1])
    sketch.sources[-1] = f"one_or_more({sketch.sources[-1]}{where}{within_})"
    return ""


@restriction("each", "lists")
def each(sketch: Sketch) -> str:
    _some_list(sketch)
    condition = sketch.of("one.n % 2 == 0", "one.k == {a}.k", "one.k <= 1", "(one.j >= 0) & (one.k == {a}.j)")
    first = sketch.slots[0]
    if first in sketch.lists:
        condition = "one.k <= 1"
    sketch.conditions.append(f"each({sketch.slots[-1]}, lambda one: {condition.format(a=first)})")
    return ""


@restriction("successive", "lists")
def successive(sketch: Sketch) -> str:
    _some_list(sketch)
    condition = sketch.of("one.n < other.n", "one.k == other.k", "one.j <= other.j")
    sketch.conditions.append(f"successive({sketch.slots[-1]}, lambda one, other: {condition})")
    return ""


def _some_list(sketch: Sketch) -> None:
    if sketch.slots[-1] not in sketch.lists:
        (repeated if sketch.chance(0.7) else one_or_more)(sketch)
        sketch.write("repeated" if "repeated" in sketch.sources[-1] else "one_or_more")


# --------------------------------------------------------------------------------------------------------------- nulls


@restriction("coalesce", "nulls")
def coalesce(sketch: Sketch) -> str:
    plain = [slot for slot in sketch.slots if slot not in sketch.lists | sketch.odd]
    if not plain:
        raise Refused
    one, other = plain[0], plain[-1]
    sketch.conditions.append(
        sketch.of(f"coalesce({one}.k, 1) == coalesce({other}.j, 1)", f"coalesce({one}.k, {other}.j, 0) <= 1")
    )
    return ""


@restriction("is_missing", "nulls")
def is_missing(sketch: Sketch) -> str:
    text = optionally(sketch)
    sketch.write("optionally")
    sketch.tells = [f"is_missing({slot})" for slot in sketch.slots]
    return text


# ------------------------------------------------------------------------------------------------- what all of it is in


def _everywhere(name: str) -> None:
    @restriction(name, "correlations")
    def everywhere(sketch: Sketch) -> str:  # drawn where correlations and inputs are
        return ""


for _name in ("correlate", "restricting", "ordered", "unordered"):
    _everywhere(_name)
