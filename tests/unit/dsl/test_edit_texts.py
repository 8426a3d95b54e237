"""Edits of a text of rules: what the page shows of it, and that an edit changes its own lines alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsl import InvalidRule, RulePack, UnknownField
from dsl.editor.drafts import edit, judge, read
from dsl.editor.editing import added, deleted, moved, replaced
from dsl.editor.outline import Outline
from tests.unit.dsl.test_rules_as_text import HARBOUR

RULES = (
    HARBOUR
    + """
# Her draught alone.
draught must be at most 20 m   # for now
    name: deep
    # a remark between
    because: the lock

at berth A, when draught is at least 1500 centimetres: under-keel clearance must be at least 0.5 m

when vessel type is "tanker":   # oil
    wind velocity must be at most 30 kn
    # about the gusts
    (wind gust if known else 0 kn) must be below 40 kn
        severity: critical
otherwise: eta must be known
"""
)
HARBOUR_RULES = Path(__file__).resolve().parents[3] / "examples" / "rules" / "harbour.rules"


def outline(text: str = RULES) -> Outline:
    return Outline(text, "harbour.rules")


def shown(text: str = RULES) -> list[tuple[int, str]]:
    """The depth and sentence of each item."""
    found = outline(text).described()["items"]
    return [
        (
            item["depth"],
            ", ".join(f"{guard['kind']} {guard['text']}".strip() for guard in item["guards"])
            + (": " if item["guards"] else "")
            + (item["requirement"]["text"] if item["requirement"] else ""),
        )
        for item in found
    ]


def test_items_are_the_sentences_and_the_heads_of_blocks():
    assert shown() == [
        (0, "draught must be at most 20 m"),
        (0, "at berth A, when draught is at least 1500 centimetres: under-keel clearance must be at least 0.5 m"),
        (0, 'when vessel type is "tanker": '),
        (1, "wind velocity must be at most 30 kn"),
        (1, "(wind gust if known else 0 kn) must be below 40 kn"),
        (0, "otherwise: eta must be known"),
    ]


def test_a_comparison_with_a_constant_is_shown_in_parts():
    items = outline().described()["items"]
    guard = items[1]["guards"][1]["parts"]
    assert (guard["left"], guard["relation"], guard["values"]) == (
        "draught", "at least", [{"value": "1500", "unit": "cm"}],
    )  # fmt: skip
    assert guard["units"][0] == "m"
    assert {"m", "cm", "ft", "nmi"} <= set(guard["units"])
    assert "kn" not in guard["units"]
    choice = items[2]["guards"][0]["parts"]
    assert (choice["relation"], choice["values"][0]["value"]) == ("is", "tanker")
    assert choice["members"] == ["tanker", "container"]
    assert items[5]["requirement"]["parts"]["relation"] == "known"


@pytest.mark.parametrize(
    "sentence", ["draught must be at least tide height", "it must hold that has pilot or eta is known"]
)
def test_any_other_condition_is_shown_as_text(sentence: str):
    requirement = outline(f"{HARBOUR}\n{sentence}").described()["items"][0]["requirement"]
    assert requirement == {"text": sentence, "parts": None}


def test_a_sentence_is_written_anew_and_everything_else_stays():
    text = replaced(
        outline(), 0, "draught must be at most 19 m", {"name": "deep", "because": " lock ", "severity": "minor"}
    )
    assert text == RULES.replace(
        """draught must be at most 20 m   # for now
    name: deep
    # a remark between
    because: the lock
""",
        """draught must be at most 19 m   # for now
    # a remark between
    name: deep
    because: " lock "
    severity: minor
""",
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "draught must be at most (5 m + 3 m)",
        "when has pilot: it must hold that (has pilot or draught is above 3 m)",
        'destination must not be "#1: (north)"',
        'at "#2", when (has pilot): nothing',
        "when (has pilot or (draught is above 3 m)):",
    ],
)
@pytest.mark.parametrize("remark", ["# see 4.2", '#: (why) `a` # "b"', "#"])
def test_the_remark_beside_a_sentence_stays_however_that_ends(sentence: str, remark: str):
    body = "\n    has pilot must be true" if sentence.endswith("):") else ""
    text = f"{HARBOUR}\n{sentence}   {remark}{body}\n"
    assert replaced(outline(text), 0, sentence, {}) == text


def test_the_head_of_a_block_is_written_anew():
    text = replaced(outline(), 2, 'when vessel type is "container":', {})
    assert text == RULES.replace('when vessel type is "tanker":   # oil', 'when vessel type is "container":   # oil')


def test_a_rule_is_added_at_the_end_or_below_another():
    assert added(outline(), None, "has pilot must be true", {}) == RULES + "\nhas pilot must be true\n"
    text = added(outline(), 3, "has pilot must be true", {"name": "pilot"})
    line = "    wind velocity must be at most 30 kn\n"
    assert text == RULES.replace(line, f"{line}    has pilot must be true\n        name: pilot\n")


def test_a_rule_is_deleted_with_the_comment_above_it():
    text = deleted(outline(), 4)
    assert "about the gusts" not in text
    assert shown(text) == [*shown()[:4], *shown()[5:]]


def test_a_block_that_is_left_empty_says_so():
    text = deleted(outline(deleted(outline(), 4)), 3)
    assert 'when vessel type is "tanker": nothing   # oil\notherwise: eta must be known\n' in text
    assert len(outline(text).pack.statements[2].body) == 0  # type: ignore[union-attr]  # it is a block


def test_a_rule_moves_with_its_comment_and_stays_on_its_level():
    text = moved(outline(), 4, down=False)
    assert [said for _, said in shown(text)][3:5] == [said for _, said in reversed(shown()[3:5])]
    assert text.index("# about the gusts") < text.index("(wind gust")
    assert moved(outline(text), 3, down=True) == RULES
    assert moved(outline(moved(outline(), 0, down=True)), 1, down=False) == RULES
    with pytest.raises(InvalidRule, match="expected a neighbour but the rule is the first"):
        moved(outline(), 0, down=False)


REMARKS = (
    HARBOUR
    + """
# above the first
draught must be at most 20 m
    name: deep
    # below the first
# above the second
when has pilot:
    # above the inner
    wind velocity must be at most 30 kn
        # below the inner
    eta must be known
    # below the block
otherwise: wind velocity must be at most 20 kn
    # below the second
"""
)


def test_remarks_below_a_rule_go_with_it():
    head, first, second = REMARKS.partition("# above the first")[0], *REMARKS.partition("# above the second")[::2]
    first, second = first.removeprefix(head), f"# above the second{second}"
    assert moved(outline(REMARKS), 0, down=True) == f"{head}{second}{first}"
    assert moved(outline(moved(outline(REMARKS), 0, down=True)), 4, down=False) == REMARKS
    assert deleted(outline(REMARKS), 0) == f"{head}{second}"
    assert (
        added(outline(REMARKS), 0, "has pilot must be true", {}) == f"{head}{first}\nhas pilot must be true\n{second}"
    )
    inner = "    # above the inner\n    wind velocity must be at most 30 kn\n        # below the inner\n"
    known = "    eta must be known\n"
    assert moved(outline(REMARKS), 2, down=True) == REMARKS.replace(f"{inner}{known}", f"{known}{inner}")
    assert deleted(outline(REMARKS), 2) == REMARKS.replace(inner, "")


@pytest.mark.parametrize(
    ("way", "number", "now"),
    [
        ("add", None, 5), ("add", 0, 1), ("add", 1, 5), ("add", 3, 4), ("delete", 0, 0), ("delete", 3, 3),
        ("down", 0, 4), ("up", 1, 0), ("down", 2, 3), ("up", 3, 2), ("replace", 3, 3),
    ],
)  # fmt: skip
def test_an_edit_says_which_number_its_rule_has(way: str, number: int | None, now: int):
    """Where one is deleted: which its neighbour has."""
    before = read({"text": REMARKS}, "f")["items"]
    new = {"head": "draught must be below 7 m", "properties": {}}
    answer = edit({"text": REMARKS, "edit": way, "number": number, **new}, "f")
    assert answer["number"] == now
    said = "guards", "requirement", "properties"
    found = [answer["outline"]["items"][now][each] for each in said]
    if way in {"add", "replace"}:
        assert found[1]["text"] == new["head"]
    else:
        assert number is not None
        expected = before[number + 1] if way == "delete" else before[number]
        assert found == [expected[each] for each in said]


def test_of_the_last_rule_that_is_deleted_there_is_no_neighbour():
    only = f"{HARBOUR}\ndraught must be at most 5 m\n"
    assert edit({"text": only, "edit": "delete", "number": 0}, "f")["number"] == -1
    two = f"{only}\neta must be known\n"
    assert edit({"text": two, "edit": "delete", "number": 1}, "f")["number"] == 0


def test_what_no_edit_can_mean_is_refused():
    with pytest.raises(InvalidRule, match="expected a rule of the text but got number 99"):
        deleted(outline(), 99)
    with pytest.raises(InvalidRule, match="expected a sentence on one line"):
        replaced(outline(), 0, "draught must be at most 20 m\npack: x", {})


def test_an_edit_that_does_not_read_is_refused_with_its_line():
    draft = {"text": RULES, "edit": "replace", "number": 0, "head": "drauht must be at most 9 m", "properties": {}}
    with pytest.raises(UnknownField, match="did you mean draught") as refused:
        edit(draft, "harbour.rules")
    assert "    drauht must be at most 9 m   # for now\n    ^^^^^^" in str(refused.value)
    with pytest.raises(InvalidRule, match="otherwise"):
        edit({"text": RULES, "edit": "delete", "number": 2}, "harbour.rules")


@settings(max_examples=settings().max_examples // 3)
@given(st.lists(st.tuples(st.sampled_from(["delete", "up", "down", "add"]), st.integers(0, 9)), max_size=3))
def test_edits_keep_what_they_do_not_touch(edits: list[tuple[str, int]]):
    text, count = HARBOUR_RULES.read_text(encoding="utf-8"), 11
    head = text[: text.index("(wind gust if known")]
    for name, number in edits:
        draft = {"text": text, "edit": name, "number": number, "head": "draught must be at most 9 m"}
        try:
            answer = edit(draft, "harbour.rules")
        except InvalidRule:  # no such rule, no neighbour, or an `otherwise` would stand alone
            continue
        text, items = answer["text"], len(answer["outline"]["items"])
        change, count = items - count, items
        assert change == 1 if name == "add" else change < 0 if name == "delete" else change == 0
        assert text.startswith(head)


def test_a_situation_is_judged_from_what_people_type():
    rows = {
        "vessel": [{"mmsi": "1", "draught": "15.5", "destination": "berth A", "vessel_type": "container"}],
        "berth": [{"id": "", "depth": "15", "position": "51.9, 4.1"}],
        "tide": [{"height": "80", "sensor": ""}],
        "wind": [{"velocity": "", "gust": ""}],
    }
    verdict = judge({"text": RULES, "rows": rows, "now": "2026-05-01 14:30Z"}, "harbour.rules")
    assert verdict["status"] == "restricted"
    first, second = verdict["because"]
    assert (first["number"], first["name"]) == (1, "under-keel clearance must be at least 0.5 m")
    assert ["under-keel clearance", "0.3", "m"] in first["values"]
    assert first["margin"] == "-0.2 m"
    assert (second["number"], second["name"]) == (5, "eta must be known")
    rows["vessel"][0]["eta"] = "2026-05-02 10:00Z"
    rows["tide"][0]["height"] = "100"
    assert judge({"text": RULES, "rows": rows}, "harbour.rules")["status"] == "allowed"
    rows["tide"] = []
    unknown = judge({"text": RULES, "rows": rows}, "harbour.rules")
    assert (unknown["status"], unknown["because"][0]["missing"]) == ("unknown", ["tide"])


def test_what_is_counted_and_the_other_ships_have_several_rows():
    text = (
        HARBOUR
        + """
(number of tug where tug available) must be at least 2
for every other where other destination is destination: other draught must be at most 9 m
"""
    )
    tables = {source["name"] for source in outline(text).described()["sources"] if source["isTable"]}
    assert tables == {"tug", "other"}
    vessel = {"mmsi": "1", "destination": "A"}
    tugs = [{"id": "1", "available": "yes"}, {"id": "2", "available": "yes"}]
    ships = [{"mmsi": "2", "destination": "A", "draught": "12"}, {"mmsi": "3", "destination": "B", "draught": "12"}]
    rows = {"vessel": [vessel], "tug": tugs, "other": ships}
    verdict = judge({"text": text, "rows": rows}, "harbour.rules")
    assert [reason["name"] for reason in verdict["because"]] == ["other draught must be at most 9 m"]
    rows |= {"tug": [*tugs[:1], {"id": "", "available": ""}], "other": ships[1:]}
    verdict = judge({"text": text, "rows": rows}, "harbour.rules")
    assert [reason["name"] for reason in verdict["because"]] == [
        "(number of tug where tug available) must be at least 2"
    ]


def test_a_reason_has_the_number_of_its_rule_however_many_are_called_alike():
    text = (
        HARBOUR
        + """
at A: draught must be at most 5 m
at B: draught must be at most 5 m
when draught is above 6 m:
    draught must be at most 5 m
draught must be at most 9 m
    name: deep
has pilot must be true
    name: deep
"""
    )

    def found(**vessel: str) -> list[tuple[int, str, bool]]:
        verdict = judge({"text": text, "rows": {"vessel": [{"mmsi": "1", **vessel}]}}, "f")
        return [(each["number"], each["name"], bool(each["missing"])) for each in verdict["because"]]

    sentence = "draught must be at most 5 m"
    assert found(destination="B", draught="5.5", has_pilot="yes") == [(1, sentence, False)]
    assert found(destination="C", draught="7", has_pilot="yes") == [(3, sentence, False)]
    assert found(destination="C", draught="5", has_pilot="no") == [(5, "deep", False)]
    assert found(destination="B", draught="10") == [
        (1, sentence, False), (3, sentence, False), (4, "deep", False), (5, "deep", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "typed", "message"),
    [
        ("draught", "deep", "vessel draught: a number is needed, such as 15, but got 'deep'"),
        ("draught", "12,5", "vessel draught: a number is needed, such as 15, but got '12,5'"),
        ("draught", "nan", "a number is needed"),
        ("draught", "-infinity", "a number is needed"),
        ("draught", "1_000", "a number is needed"),
        ("draught", "1e999", "a number is needed"),
        (
            "eta",
            "tomorrow",
            "vessel eta: a time with its zone is needed, such as 2026-05-01 14:30Z, but got 'tomorrow'",
        ),
        ("eta", "2026-05-01 14:30", "a time with its zone is needed"),
        ("eta", "20260501", "a time with its zone is needed"),
        ("position", "51", "vessel position: a position is needed, latitude up to 90 and .*, such as 51.95, 4.14"),
        ("position", "91,0", "a position is needed, latitude up to 90"),
        ("position", "0,-181", "a position is needed, latitude up to 90"),
        ("position", "nan,0", "a position is needed, latitude up to 90"),
        ("vessel_type", "tug", "vessel vessel type: one of tanker, container is needed, but got 'tug'"),
        ("has_pilot", "perhaps", "vessel has pilot: yes or no is needed, but got 'perhaps'"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(field: str, typed: str, message: str):
    with pytest.raises(ValueError, match=message):
        judge({"text": RULES, "rows": {"vessel": [{field: typed}]}}, "harbour.rules")


def test_an_example_that_is_no_prediction_is_refused_in_words():
    text = """pack: p
subject: vessel
source vessel by id:
    id: number
    eta: instant
source tide, forecast:
    height: metres
tide height predicted for eta must be at least 3 m
"""
    with pytest.raises(ValueError, match=r"^the example situation: tide: its 'issued' is no instant; [^\n]*$"):
        judge({"text": text, "rows": {"tide": [{"height": "3"}]}}, "f")


def test_what_is_not_known_is_said_in_the_words_of_the_sentences():
    """`vessel.vessel_type` is what a program calls it."""
    text = HARBOUR_RULES.read_text(encoding="utf-8").replace("vessel type", "ship type")
    verdict = judge({"text": text, "rows": {"vessel": [{"length": "210"}], "wind": [{"velocity": "30"}]}}, "h.rules")
    missing = {reason["name"]: reason["missing"] for reason in verdict["because"]}
    assert missing["no tankers at B"] == ["destination", "ship type"]
    assert missing["clearance at A"] == ["destination", "draught", "berth", "tide"]
    assert missing["offshore wind"] == ["ship type", "wind direction"]
    values = [each for reason in verdict["because"] for each in reason["values"]]
    assert ["berth depth", None, "m"] in values
    assert not [label for label, _, _ in values if label.startswith(("vessel.", "berth.", "tide.", "wind."))]


def test_the_example_file_reads_and_its_outline_names_every_requirement():
    text = HARBOUR_RULES.read_text(encoding="utf-8")
    items = read({"text": text}, "harbour.rules")["items"]
    names = [item["properties"]["name"] for item in items if item["requirement"]]
    assert "clearance at A" in names
    assert len(names) == 9
    assert RulePack.from_text(RulePack.from_text(text).to_text()).statements == RulePack.from_text(text).statements


FOLLOWED = (
    HARBOUR
    + """
when draught is at least 12 m: wind velocity must be at most 30 kn
    name: a

when vessel type is "tanker": wind velocity must be at most 20 kn
    name: b
otherwise: wind velocity must be at most 25 kn
    name: c
"""
)


def said_of(text: str, name: str) -> str:
    """What the description says of a rule, without its number."""
    (line,) = [line for line in RulePack.from_text(text).describe().splitlines() if f"({name};" in line]
    return line.partition(". ")[2]


@pytest.mark.parametrize(("what", "number"), [("up", 1), ("down", 0), ("add", 0), ("add", 1), ("add", 2)])
def test_an_otherwise_keeps_its_when_whatever_is_moved_or_added(what, number):
    new = {"head": "when draught is below 2 m: wind velocity must be at most 40 kn", "properties": {}}
    text = edit({"text": FOLLOWED, "edit": what, "number": number, **new}, "f")["text"]
    assert {name: said_of(text, name) for name in "abc"} == {name: said_of(FOLLOWED, name) for name in "abc"}
    assert "vessel type is not" in said_of(text, "c")


@pytest.mark.parametrize(
    ("what", "number", "why"),
    [("delete", 1, "belong to another condition"), ("up", 2, "goes with its `when`"), ("down", 1, "a neighbour")],
)
def test_what_would_part_an_otherwise_from_its_when_is_refused(what, number, why):
    with pytest.raises(InvalidRule, match=why):
        edit({"text": FOLLOWED, "edit": what, "number": number}, "f")


def test_what_two_conditions_say_alike_is_said_once():
    text = (
        HARBOUR
        + "\nwhen not oil, when not (oil or draught is above 12 m): draught must be at most 5 m\n    name: two\n"
    )
    text = text.replace("    draught:", "    oil: yes or no\n    draught:", 1)
    assert '"oil" does not hold and whose draught is at most 12 m' in said_of(text, "two")
