"""The rule pack of the harbour on Spark: an hour of AIS, as many times as a micro-batch is to have vessel rows.

Each copy has ships of its own, whose numbers are shifted; the readings of the other sources come once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as f

from bench.spark_sides import counted
from bench.spark_streams import WARM_UP, write
from examples.port.inputs import SOURCES, read_day
from examples.port.programs import rule_pack
from examples.port.slices import PLACE, TIME, spark_schema, write_slices
from spark_bridge import correlate_frames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from bench.spark_streams import Load
    from dsl import RulePack

_DATA: Final = Path(__file__).resolve().parents[1] / "examples" / "port" / "data"
_HOUR: Final = 60  # minutes of AIS
_APART: Final = 10**10  # between the numbers of a ship's copies
_FILES: Final = 2  # of vessel rows a micro-batch, so that two cores read and pack them
VESSEL: Final = "vessel"


def write_harbour(folder: Path, load: Load) -> tuple[RulePack, dict[str, str]]:
    """Write the files of the sources; return the pack, and the columns of each source."""
    day = read_day(_DATA)
    pack = rule_pack("port", day.berths, day.gauges, day.stations)
    names = [source for source in SOURCES if source in pack.sources]
    slices = WARM_UP + load.batches
    for source in names:
        plain = folder / f"plain-{source}"
        write_slices(day, source, _HOUR // slices, plain)
        for number, path in enumerate(sorted(plain.iterdir())[:slices]):
            table = pq.read_table(path)
            if source == VESSEL:
                write(folder / source, number, _copied(table, load.rows), _FILES)
            else:
                write(folder / source, number, table)
    return pack, {source: spark_schema(source) for source in names}


def _copied(table: pa.Table, rows: int) -> pa.Table:
    """Return a table as many times as it takes to have so many rows, each time of other ships."""
    place = table.schema.get_field_index("mmsi")
    ships = table.column("mmsi").to_numpy()
    copies = [
        table.set_column(place, "mmsi", pa.array(ships + number * _APART))
        for number in range(max(1, round(rows / max(1, table.num_rows))))
    ]
    return pa.concat_tables(copies)


def our_verdicts(pack: RulePack, streams: Mapping[str, DataFrame], load: Load) -> DataFrame:
    """Ours: the verdict of each ship."""
    frames = correlate_frames(
        pack.table(),
        streams,
        event_time=TIME,
        sequence=PLACE,
        partition_by="mmsi",
        buckets=load.buckets,
        watermark="1 minute",
    )
    return frames.results


def counted_vessels(streams: Mapping[str, DataFrame], load: Load) -> DataFrame:
    """The row-counting operator over the vessel rows, with all their columns, in the same buckets."""
    return counted(streams[VESSEL].withColumn(TIME, f.unix_micros(TIME)), "mmsi", load.buckets)
