"""Every public name says what it is, with an example that runs (doctests run them)."""

import importlib
import pydoc

import pytest

from cartesius.language import families

PACKAGES = ("cartesius", "restrictions", "dsl", "spark_bridge", "cartesius.testing", "spark_bridge.testing")
ALIASES = {"Slots": families.Slots}  # an alias has no docstring of its own: the text below it, in families.__test__


def public_names():
    for package in PACKAGES:
        module = importlib.import_module(package)
        yield from ((package, name) for name in module.__all__)
    streams = importlib.import_module("restrictions.streams")
    yield from (("restrictions.streams", name) for name, value in vars(streams).items() if callable(value))


@pytest.mark.parametrize(("package", "name"), list(public_names()))
def test_a_public_name_has_a_docstring_with_a_runnable_example(package, name):
    value = getattr(importlib.import_module(package), name)
    text = families.__test__[name] if name in ALIASES else value.__doc__
    assert text
    assert ">>>" in text


@pytest.mark.parametrize(("package", "name"), list(public_names()))
def test_the_help_of_a_public_name_shows_no_object_by_its_address(package, name):
    text = pydoc.render_doc(getattr(importlib.import_module(package), name))
    assert "object object at 0x" not in text


def test_the_names_of_the_contract_are_there():
    contract = [
        "most_recently",
        "earliest",
        "key_by",
        "affinely",
        "at_most",
        "aligning",
        "fifo",
        "lifo",
        "first_match",
        "in_sequence",
        "take",
        "every_nth",
        "randomly",
        "ordered_by",
        "only",
        "optionally",
        "retracting",
        "as_table",
    ]
    streams = [
        "cartesian",
        "combine_latest",
        "zip_",
        "affine_latest",
        "with_latest_from",
        "merge",
        "never",
        "now",
        "map_",
        "filter_",
        "map_concat",
        "scan",
        "skip_while",
        "skip_until",
        "take_until",
        "distinct_until_changed",
        "rolling",
        "buffer",
        "group_by",
        "sample",
        "fork_join",
        "join",
        "group_join",
        "interval_join",
        "stream_table_join",
    ]
    restrictions = importlib.import_module("restrictions")
    assert [name for name in contract if name not in restrictions.__all__] == []
    module = importlib.import_module("restrictions.streams")
    assert [name for name in streams if not callable(getattr(module, name, None))] == []
