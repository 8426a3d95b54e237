"""README's programs run on Spark by the very lines that README shows."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from spark_bridge import correlate_frames
from tests.documents import ROOT, of_language

START = datetime(2026, 1, 1, tzinfo=UTC)
PAGE = ROOT / "README.md"


@pytest.fixture(scope="module")
def readme():
    """What README's first two programs define."""
    names = {"__name__": "readme", "correlate_frames": correlate_frames}
    for block in of_language("python", PAGE)[:2]:
        exec(compile(block.code, str(PAGE), "exec"), names)
    return names


def line_of(program: str) -> str:
    (line,) = re.findall(rf"^`(correlate_frames\({program}.*)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return line


def test_readmes_first_program_on_spark(spark, readme):
    def rows(*some):
        return [(START + timedelta(hours=at), *values) for at, *values in some]

    ads = rows((1, "eva", "tea"), (2, "eva", "coffee"), (3, "ada", "milk"), (6, "eva", "soap"))
    frames = {
        "ads": spark.createDataFrame(ads, "at timestamp, user string, id string"),
        "clicks": spark.createDataFrame(
            rows((0, "eva"), (5, "eva"), (27, "ada"), (28, "ada")), "at timestamp, user string"
        ),
    }
    given = eval(line_of("credited"), {**readme, **frames})
    # The first click comes before any ad; ada's at 27 is exactly a day after hers, that at 28 an hour too late.
    assert sorted((row.user, row.id) for row in given.results.collect()) == [("ada", "milk"), ("eva", "coffee")]
    assert not given.dead.count()


def test_readmes_restriction_of_ones_own_on_spark(spark, readme):
    def rows(*some):
        return [(START + timedelta(seconds=at), *values) for at, *values in some]

    reports = rows((10, 7, "EVA"), (15, 7, "ORCA"), (40, 7, "ANNA"), (41, 8, "BERTA"), (47, 7, "CLARA"))
    echoes = rows((14, 7, 3), (41, 7, 5), (42, 7, 6), (60, 8, 9))
    frames = {
        "reports": spark.createDataFrame(reports, "at timestamp, cell long, ship string"),
        "echoes": spark.createDataFrame(echoes, "at timestamp, cell long, size long"),
    }
    given = eval(line_of("sightings"), {**readme, **frames})
    assert not given.dead.count()
    got = sorted((row.ship, row.size, row.start.second, row.end.second) for row in given.results.collect())
    # ORCA's report came after the echo, and is nearer than EVA's; CLARA's is exactly five seconds after its echo.
    assert got == [("ANNA", 5, 40, 41), ("CLARA", 6, 42, 47), ("ORCA", 3, 14, 15)]
