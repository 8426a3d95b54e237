"""PySpark and pyarrow that do not go together are refused where a stream is made, not by a worker."""

from __future__ import annotations

from unittest import mock

import pyarrow
import pyspark
import pytest

from cartesius.errors import InvalidArgument
from spark_bridge.running.stateful import check_versions, run_streaming


@pytest.mark.parametrize(
    ("spark", "first"),
    [("4.0.0", "4.0.5"), ("4.0.4", "4.0.5"), ("4.1.0", "4.1.4"), ("4.1.3", "4.1.4")],
)
def test_a_pyspark_that_slices_by_floats_wants_an_older_pyarrow(spark, first):
    for arrow in ("26.0.0", "26.0.1", "27.1.0", "100"):
        with pytest.raises(InvalidArgument, match=rf'beside PySpark {spark}.*but got {arrow}.*"pyarrow<26".*{first}'):
            check_versions(spark, arrow)
    for arrow in ("15.0.0", "25.0.0"):
        check_versions(spark, arrow)


@pytest.mark.parametrize("spark", ["4.0.5", "4.0.12", "4.1.4", "4.2.0", "4.3.0", "4.3.0.dev1", "4.10.0", "5.0"])
def test_a_pyspark_that_was_mended_takes_any(spark):
    for arrow in ("25.0.0", "26.0.1", "27.0.0"):
        check_versions(spark, arrow)


def test_a_stream_is_refused_where_it_is_made(monkeypatch):
    class Frame:
        def withColumn(self, *_):
            pytest.fail("nothing is asked of the frame")

    monkeypatch.setattr("spark_bridge.running.stateful.f", mock.MagicMock())
    monkeypatch.setattr(pyarrow, "__version__", "26.0.1")
    monkeypatch.setattr(pyspark, "__version__", "4.1.3")
    with pytest.raises(InvalidArgument, match=r"beside PySpark 4\.1\.3"):
        run_streaming(Frame(), None, [0], has_watermark=False)  # type: ignore[arg-type]  # it is refused before either is used
    monkeypatch.setattr(pyspark, "__version__", "4.1.4")
    with pytest.raises(pytest.fail.Exception, match="nothing is asked"):
        run_streaming(Frame(), None, [0], has_watermark=False)  # type: ignore[arg-type]  # likewise
