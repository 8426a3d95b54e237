"""The daemon of Spark's Python workers with all that they need imported, once: ``spark.python.daemon.module``.

PySpark's own daemon forks workers that are empty: each imports pandas, Arrow and this library for itself, and collects
garbage after every task, which goes through all that it has imported. This one imports first and freezes that, so
that a worker is there at once and a collection looks at what a task has made. It is PySpark's in all else.

    builder.config("spark.python.daemon.module", "spark_bridge.daemon")

What is imported starts threads, of which a fork takes none along: OpenBLAS starts none, as Spark asks it for one
(OMP_NUM_THREADS), and jemalloc, of Arrow, is made for forks. The workers of a cluster must find this package on their
path, as they must in any case.

Source: PySpark, ``pyspark/daemon.py``; https://docs.python.org/3/library/gc.html#gc.freeze.
"""

from __future__ import annotations

import gc
import importlib
from contextlib import suppress
from typing import Final

from pyspark import daemon

IMPORTED: Final = ("pandas", "pyarrow.compute", "pyspark.worker", "restrictions.tables", "dsl", "spark_bridge.frames")
"""What workers need, as far as it is installed."""


def main() -> None:
    """Import, freeze, and fork workers for as long as Spark asks for some."""
    for name in IMPORTED:
        with suppress(ImportError):  # a part of the library that is not installed, or not on the path
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    daemon.manager()


if __name__ == "__main__":
    main()
