"""The sinks that keep the newest rows need a client each, which not everybody has installed."""

import re
import sys

import pytest

from cartesius.errors import NotInstalled
from spark_bridge.upserts import to_delta, to_postgresql


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
