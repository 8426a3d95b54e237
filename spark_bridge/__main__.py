"""``python -m spark_bridge CHECKPOINT [BATCH]``: print what the states in a checkpoint hold (`state_reports`)."""

from __future__ import annotations

import argparse
import sys

from pyspark.sql import SparkSession

from cartesius import CartesiusError
from spark_bridge.state.state_reports import state_report


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="python -m spark_bridge", description="What the states in a checkpoint hold.")
    parser.add_argument("checkpoint", help="the folder that was given to Frames.start")
    parser.add_argument("batch", nargs="?", type=int, help="the number of a micro-batch; by default the last one")
    given = parser.parse_args()
    builder = SparkSession.builder.master("local[1]").config("spark.log.level", "ERROR")
    for option in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(option, "false")
    spark = builder.getOrCreate()
    try:
        print(state_report(given.checkpoint, batch=given.batch, spark=spark))
    except CartesiusError as error:
        sys.exit(str(error))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
