"""The sinks that keep the newest rows need a client each, which not everybody has installed."""

import re
import sys

import pytest

from cartesius.errors import InvalidArgument, NotInstalled
from spark_bridge.upserts import check_postgresql_names, to_delta, to_postgresql


@pytest.mark.parametrize(
    ("sink", "arguments", "module", "requirement"),
    [
        (to_postgresql, ("dbname=port", "verdicts"), "psycopg", "cartesius-joins[postgresql]"),
        (to_delta, ("out/verdicts",), "delta", "delta-spark"),
    ],
)
def test_a_sink_whose_client_is_missing_says_so_before_anything_runs(sink, arguments, module, requirement, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    said = f'{sink.__name__}: expected the package {module} but it is not installed; pip install "{requirement}"'
    with pytest.raises(NotInstalled, match=f"^{re.escape(said)}$"):
        sink(*arguments)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["output", "xmin"], "but got 'xmin', which PostgreSQL has for itself; yield another name"),
        (["ctid"], "'ctid', which PostgreSQL has for itself"),
        (["n" * 63 + "a", "n" * 63 + "b"], "b', which PostgreSQL cuts at 63 bytes, as 'n"),
        (["ï" * 31 + "na", "ï" * 31 + "n"], "n', which PostgreSQL cuts at 63 bytes, as 'ï"),
    ],
)
def test_names_that_no_table_can_have_together_are_refused(names, said):
    with pytest.raises(InvalidArgument, match=said):
        check_postgresql_names(names)


def test_names_that_a_table_can_have_are_not():
    check_postgresql_names(["output", "XMIN", "Output", "n" * 70, "n" * 62, "naïve name"])
