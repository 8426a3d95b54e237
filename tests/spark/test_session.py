"""The shared Spark session is what the other tests take it for, down to its workers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


def test_the_session_is_small_and_in_utc(spark: SparkSession):
    assert spark.sparkContext.master == "local[2]"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_workers_are_this_python_and_can_import_the_packages(spark: SparkSession):
    def look(rows: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import cartesius
        import restrictions

        for _ in rows:
            homes = f"{os.path.dirname(cartesius.__file__)} {os.path.dirname(restrictions.__file__)}"
            yield pd.DataFrame({"python": [sys.executable], "homes": [homes]})

    seen = spark.range(1).mapInPandas(look, "python string, homes string").collect()
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    assert [tuple(row) for row in seen] == [(sys.executable, f"{root}/cartesius {root}/restrictions")]


def test_greenlets_switch_in_workers(spark: SparkSession):
    def switch(rows: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        from greenlet import getcurrent, greenlet

        outer = getcurrent()

        def add_one(n: int) -> int:
            return outer.switch(n + 1) + 1

        for frame in rows:
            pairs = [(inner := greenlet(add_one)).switch(int(n)) * 100 + inner.switch(40) for n in frame["id"]]
            yield pd.DataFrame({"n": pairs})

    assert [row.n for row in spark.range(2).coalesce(1).mapInPandas(switch, "n long").collect()] == [141, 241]
