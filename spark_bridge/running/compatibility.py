"""Versions that cannot work together, told before a query fails by them in a worker.

As soon as a group has two rows, Spark fills up with nulls the column by which Arrow batches are to be sliced. So its
numbers come out of pyarrow as floats, and PySpark 4.0 and 4.1 sliced by those. From version 26 on pyarrow takes
whole numbers only: releases of PySpark from before then run no stateful operator of pandas with it, neither ours nor
anybody else's. PySpark 4.2 reads that column otherwise.

Source: PySpark's ``pyspark/sql/pandas/serializers.py``; 4.0.5 and 4.1.4 say why they make whole numbers of them again.
"""

from __future__ import annotations

import re
from typing import Final

from cartesius.errors import InvalidArgument

_MENDED: Final = {(4, 0): 5, (4, 1): 4}
"""The first release of a minor version of PySpark that slices by whole numbers; those of later ones all do."""
_STRICT: Final = 26
"""The first pyarrow, by major version, that wants whole numbers."""


def check_versions(spark: str, arrow: str) -> None:
    """Raise `InvalidArgument` if this PySpark cannot run a stateful operator with this pyarrow.

    >>> from spark_bridge.running.compatibility import check_versions
    >>> check_versions("4.1.3", "25.0.0")

    Args:
        spark: The version of PySpark, here; that of the workers has to be the same.
        arrow: The version of pyarrow, here, and most likely there.
    """
    major, minor, release = _numbers(spark)
    first = _MENDED.get((major, minor))
    if first is not None and release < first and _numbers(arrow)[0] >= _STRICT:
        message = (
            f"correlate_frames: expected a pyarrow before {_STRICT} beside PySpark {spark}, which slices batches by"
            f" floats, but got {arrow}, which takes whole numbers only, so that streams fail in their workers;"
            f' install "pyarrow<{_STRICT}", or PySpark {major}.{minor}.{first} or newer'
        )
        raise InvalidArgument(message)


def _numbers(version: str) -> tuple[int, int, int]:
    """Return the first three numbers of a version, 0 for those that it does not say."""
    major, minor, release, *_ = (*map(int, re.findall(r"\d+", version)), 0, 0, 0)
    return major, minor, release
