"""Parts of a query are killed at random points, ten times over; the sink has what it has of an undisturbed run.

`make test-faults` runs these tests, and `make test-long`.
"""

from __future__ import annotations

import pytest

from tests.brokers.servers import postgresql_server
from tests.faults.comparing import disturbed, undisturbed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What an undisturbed run leaves in a sink, made once."""
    known = {}

    def of(sink):
        if sink not in known:
            known[sink] = undisturbed(tmp_path_factory.mktemp(sink.partition(":")[0]), sink)
        return known[sink]

    return of


@pytest.mark.parametrize("sink", ["files", "parquet"])
@pytest.mark.parametrize("target", ["driver", "worker", "executor"])
def test_nothing_is_lost_and_nothing_comes_twice(expected, tmp_path, sink, target):
    rows, seconds = expected(sink)
    assert len(rows["all" if sink == "files" else "results"]) > 500
    assert disturbed(tmp_path, sink, target, seconds) == rows


def test_an_upsert_into_postgresql_has_the_same_rows_whatever_the_driver_died_of(expected, tmp_path):
    pytest.importorskip("psycopg", reason="the extra postgresql is not installed")
    with postgresql_server() as connection:
        rows, seconds = expected(f"postgresql:undisturbed:{connection}")
        assert len(rows["results"]) > 20
        assert disturbed(tmp_path, f"postgresql:disturbed:{connection}", "driver", seconds) == rows
