"""Results as lines of JSON: what any reader of JSON reads, whatever the values are."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import pytest

from cartesius import Event
from cartesius.connectors.row_items import json_text, result_line
from cartesius.data.events import Update


def refused(name):
    raise AssertionError(name)


def value_of(line):
    return json.loads(line.decode(), parse_constant=refused)["value"]


def test_numbers_that_json_lacks_are_texts_as_spark_writes_them():
    value = {"at": math.nan, "é": [math.inf, -math.inf, 0.1, Decimal("NaN")], "of": Event}
    line = result_line(Event(value, 3, 5, 1, "pairs"))
    assert value_of(line) == {"at": "NaN", "é": ["Infinity", "-Infinity", 0.1, "NaN"], "of": str(Event)}
    assert "é".encode() in line


def test_the_key_of_a_row_that_is_no_number_is_a_text():
    line = result_line(Event(Update(math.nan, 1), 3, 5, 1, "pairs"))
    assert json.loads(line, parse_constant=refused)["key"] == json.loads(json_text(math.nan)) == "NaN"


def test_what_cannot_be_written_says_so():
    around: list[object] = []
    around.append(around)
    with pytest.raises(ValueError, match="Circular reference"):
        json_text(around)


def test_half_a_pair_of_surrogates_comes_out_as_it_came():
    came = json.loads('{"half":"\\ud800","whole":"\\ud83d\\ude00","slash":"\\\\ud800"}')
    line = result_line(Event(came, 3, 5, 1, "pairs"))
    assert value_of(line) == came
    assert "😀".encode() in line
