"""The excerpt of the user's line: the caret is under the very expression, and its absence is no error."""

from __future__ import annotations

import linecache

import pytest

from dsl import DimensionMismatch, NoTruthValue
from dsl.refusals.excerpts import Span, excerpt
from dsl.units import knots, metres
from tests.unit.dsl.harbour import berth, tide, vessel


def lines_of(wrong) -> list[str]:
    with pytest.raises((DimensionMismatch, NoTruthValue)) as refused:
        wrong()
    return str(refused.value).splitlines()


def under_caret(wrong) -> str:
    _, _, line, caret, *_ = lines_of(wrong)
    start, end = caret.index("^"), caret.rindex("^") + 1
    assert set(caret[start:end]) == {"^"}
    return line[start:end]


def test_the_caret_is_under_the_expression_alone():
    assert under_caret(lambda: [vessel.draught + berth.depth, berth.depth + 3 * knots]) == "berth.depth + 3 * knots"
    assert under_caret(lambda: (vessel.draught > 3 * metres) & (tide.height > 3)) == "tide.height > 3"
    assert under_caret(lambda: -vessel.vessel_type) == "-vessel.vessel_type"


def test_columns_are_characters_not_bytes():
    assert under_caret(lambda: ["é ∧ 𝄞", vessel.draught > 3][1]) == "vessel.draught > 3"


def test_the_first_line_of_an_expression_of_several_lines_is_shown():
    def wrong():
        return (
            berth.depth + tide.height
            >= 3 * knots
        )  # fmt: skip

    assert under_caret(wrong) == "berth.depth + tide.height"


def test_the_file_and_line_are_named():
    where = lines_of(lambda: vessel.draught > 3)[1]
    assert where.startswith(f'  File "{__file__}", line ')


def run(source: str, name: str) -> None:
    exec(compile(source, name, "exec"), {"vessel": vessel})


def test_without_source_text_there_is_a_place_but_no_line():
    lines = lines_of(lambda: run("\n\nvessel.draught > 3", "<elsewhere>"))
    assert lines[1] == '  File "<elsewhere>", line 3'
    assert lines[2].strip().startswith("left:")


def test_without_source_text_the_right_spelling_is_general():
    assert "not_" in lines_of(lambda: run("not vessel.draught", "<elsewhere>"))[-1]


def test_source_text_that_does_not_parse_gives_the_general_spelling():
    linecache.cache["<broken>"] = (3, None, ["not (vessel.draught\n"], "<broken>")
    try:
        lines = lines_of(lambda: run("not vessel.draught", "<broken>"))
    finally:
        del linecache.cache["<broken>"]
    assert "combine conditions with" in lines[-1]


def test_a_span_beyond_the_text_shows_the_place():
    assert excerpt(Span(__file__, 10_000, 10_000, 0, 3)) == f'  File "{__file__}", line 10000'


def test_code_without_positions_has_no_excerpt():
    code = compile("vessel.draught > 3", "<bare>", "eval")
    bare = code.replace(co_linetable=b"")
    lines = lines_of(lambda: eval(bare, {"vessel": vessel}))
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["left", "right", "fix"]
