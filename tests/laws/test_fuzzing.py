"""Whatever is read from outside is taken, or refused with an error of ours: never a trace, a hang or code that runs.

Texts of rules, NMEA, tables of comma-separated values, and names in generated code. Snapshots have a law of their own
(`test_snapshot_damage.py`).
"""

from __future__ import annotations

import gzip
import keyword
import string
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cartesius import CartesiusError, Engine, Reactive, correlate
from cartesius.columns.results import events_of
from dsl import RulePack
from examples.port.inputs import read_day
from examples.port.nmea import read_nmea
from examples.port.tables import UnusableFile
from restrictions import key_by, most_recently
from restrictions.tables import to_table

ROOT = Path(__file__).resolve().parents[2]
RULES = (ROOT / "examples" / "rules" / "harbour.rules").read_text(encoding="utf-8")
FEW = settings(
    max_examples=max(10, settings().max_examples // 3), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ODD = [
    "`",
    '"',
    "(",
    ")",
    "1e99999999",
    "9**9",
    "\ud800",
    "\x00",
    "\x1b[2J",
    "\u2028",
    "%s",
    "{0}",
    "__class__",
    "\t",
    "\r",
]


odd = st.sampled_from(ODD) | st.text(max_size=5)


@st.composite
def mutated(draw, text):
    """A text with some of its pieces taken out, doubled, swapped, or replaced by odd ones."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        match draw(st.integers(0, 3)):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + text[start:]
            case 2:
                other = draw(st.integers(0, len(text)))
                text = text[:start] + text[other : other + 20] + text[end:]
            case _:
                text = text[:start] + draw(odd) + text[end:]
    return text


@given(mutated(RULES))
@example("(" * 1_990)
@example("not " * 490 + "x")
def test_a_text_of_rules_is_a_pack_or_refused(text):
    try:
        pack = RulePack.from_text(text)
    except CartesiusError:
        return
    assert RulePack.from_text(pack.to_text()).to_text() == pack.to_text()


words = st.lists(st.sampled_from(sorted({*RULES.split(), *ODD, "\n", "\n    "})), max_size=40).map(" ".join)


@given(words)
def test_a_soup_of_words_is_a_pack_or_refused(text):
    with suppress(CartesiusError):
        RulePack.from_text(text)


SENTENCES = """$PGHP,1,2010,6,11,11,0,0,0,0,1,2190047,0,5D*3A
!AIVDM,1,1,,A,13aEOK?P00PD2wVMdLDRhgvL289?,0*26
!AIVDM,2,1,1,A,55?MbV02;H;s<HtKR20EHE:0@T4@Dn2222222216L961O5Gf0NSQEp6ClRp8,0*1C
!AIVDM,2,2,1,A,88888888880,2*25
\\c:1276214400*57\\!AIVDM,1,1,,B,B5NJ;PP005l4ot5Isbl03wsUkP06,0*3A
"""


@FEW
@given(mutated(SENTENCES) | st.binary(max_size=200).map(lambda some: some.decode("latin1")))
def test_a_file_of_messages_is_read_or_refused(tmp_path, text):
    path = tmp_path / "some.nmea"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        found = read_nmea(path)
    except UnusableFile:
        return
    accounted = found.used + found.times + sum(found.unused.values()) + len(found.dead)
    assert accounted >= found.sentences  # each is one of these; of a dead one each line is a letter


@pytest.fixture(scope="module")
def small_day(tmp_path_factory):
    """The data of the port, a few rows of each file, and those rows as text."""
    folder, texts = tmp_path_factory.mktemp("data"), {}
    for path in sorted((ROOT / "examples" / "port" / "data").glob("*.csv*")):
        content = path.read_bytes()
        lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()
        wanted = [
            line for line in lines[1:] if "2020-06-30T00:0" in line or "2013-06-30" in line or path.suffix != ".gz"
        ]
        texts[path.name] = "\n".join([lines[0], *wanted[:12]]) + "\n"
        _write(folder / path.name, texts[path.name])
    return folder, texts


def _write(path, text):
    content = text.encode("utf-8", "surrogatepass")
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)


@FEW
@given(st.data())
def test_a_table_is_read_or_refused_and_each_row_is_somewhere(small_day, data):
    folder, texts = small_day
    name = data.draw(st.sampled_from(sorted(texts)))
    header, rows = texts[name].split("\n", 1)
    text = f"{header}\n{data.draw(mutated(rows))}"
    _write(folder / name, text)
    with suppress(UnusableFile):
        day = read_day(folder)
        assert all(letter.reason for letter in day.dead)
        assert {each.line for each in day.untimely} <= {letter.line for letter in day.dead}
    _write(folder / name, texts[name])


quotes = st.text(alphabet=[*"'\"\\{}[]()#;:, \n\t%$", *string.ascii_letters, "é", "\u2028"], min_size=1, max_size=12)
names = quotes | st.sampled_from(
    [*keyword.kwlist, "self", "print", "fields", "entry", "_", "x", "import os", "1", "None", "a b"]
)


HELPERS = {"at", "start", "end", "order"}
"""In a batch these columns say when a row comes, and are no fields."""


@given(st.lists(names.filter(lambda name: name not in HELPERS), min_size=2, max_size=4, unique=True), names)
def test_names_in_generated_code_are_data(fields, reactive):
    """A field may be called anything (a dot in a key is a field of a field): in every tier it is that field."""
    key, *others = fields
    left, right = Reactive(reactive), Reactive(f"{reactive} too")
    field = others[0]
    pairs = correlate(
        x=left,
        y=right,
        where=lambda x, y: x[field] <= y[field],
        yields=lambda x, y: {key: x[key], field: y[field]},
        restrict=key_by(x=key, y=key) | most_recently("x", "y"),
    )
    table = to_table(pairs, key=key)
    rows = [({key: 1, **dict.fromkeys(others, n)}, (left, right)[n % 2]) for n in range(4)]
    wanted = None
    tiers: tuple[Any, ...] = ("reference", "in_place", None)
    for tier in tiers:
        engine = Engine(pairs, table, tier=tier)
        if tier is None:
            columns = {side: [row for row, of in rows if of is side] for side in (left, right)}
            batch = {
                side: pa.table(
                    {name: [row[name] for row in some] for name in fields}
                    | {name: [n for n, (_, of) in enumerate(rows) if of is side] for name in ("at", "order")}
                )
                for side, some in columns.items()
            }
            got = [repr(one) for one in events_of(engine.push_many(batch))]
        else:
            got = [repr(one) for n, (row, of) in enumerate(rows) for one in engine.push(of, row, at=n)]
        wanted = got if wanted is None else wanted
        assert got == wanted
    assert wanted
