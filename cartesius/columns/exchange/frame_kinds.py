"""Kinds of frames: whose a frame is, as an Arrow table, and an Arrow table as such a frame again.

What has ``__arrow_c_stream__`` is read through that, so a library is imported only by who has a frame of it, or asks
for one by name.

Source: the Arrow PyCapsule interface, https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import pyarrow as pa

from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Kind: TypeAlias = Literal["pandas", "polars", "polars_lazy", "arrow", "duckdb"]
"""Whose frame it is; ``"arrow"`` is a `pyarrow.Table`."""

_INDEX: Final = "__index_level_"
"""How the name of a column begins that is an index of pandas without a name."""


def kind_of(frame: object, name: str) -> Kind:
    """Return whose frame it is; whatever else has an Arrow stream counts as Arrow's.

    Args:
        frame: What the user gave.
        name: The input that it is for.

    Raises:
        InvalidArgument: It is no frame.
    """
    library = type(frame).__module__.partition(".")[0]
    if library == "polars" and type(frame).__name__ == "LazyFrame":
        return "polars_lazy"
    if hasattr(frame, "__arrow_c_stream__"):
        owners: dict[str, Kind] = {"pandas": "pandas", "polars": "polars", "_duckdb": "duckdb", "duckdb": "duckdb"}
        return owners.get(library, "arrow")
    if hasattr(frame, "__arrow_c_array__"):  # one record batch
        return "arrow"
    message = (
        f"run_frames: expected a frame of pandas, polars, Arrow or DuckDB for {name!r} but got one of"
        f" type={type(frame).__name__}; of rows or columns of Python make one: pyarrow.Table.from_pylist(rows), or"
        " pyarrow.table(columns)"
    )
    raise InvalidArgument(message)


def to_arrow(frame: Any, kind: Kind, name: str) -> pa.Table:
    """Return a frame as an Arrow table. A named index of pandas is a column; its missing values are nulls.

    Args:
        frame: The frame.
        kind: Its kind.
        name: The input that it is for.

    Raises:
        InvalidArgument: A column has values that Arrow has no type for, or two columns have one name.
    """
    if kind == "polars_lazy":
        frame = frame.collect()
    if isinstance(frame, pa.Table):
        return frame
    if not hasattr(frame, "__arrow_c_stream__"):
        return pa.Table.from_batches([pa.record_batch(frame)])
    try:
        if kind.startswith("polars"):
            _refuse_objects(frame)
        table = pa.RecordBatchReader.from_stream(frame).read_all()
    except (pa.ArrowException, TypeError, ValueError) as error:
        got = "; ".join(map(str, error.args))
        message = (
            f"run_frames: expected the frame of {name!r} to be one that Arrow can hold but got: {got}; give each column"
            " a name of its own, and one type"
        )
        raise InvalidArgument(message) from error
    names = table.column_names
    return table.select([place for place, name in enumerate(names) if not name.startswith(_INDEX)])


def _refuse_objects(frame: Any) -> None:
    """Raise TypeError for a column of objects: polars would hand on where in memory they are."""
    for name, kind in frame.schema.items():
        if str(kind) == "Object":
            message = f"objects of Python in the column {name!r}"
            raise TypeError(message)


def checked_kind(to: object, kinds: Mapping[str, Kind]) -> Kind:
    """Return the kind that ``to`` names, or, if it is None, that of the frames.

    Raises:
        InvalidArgument: There is no such kind, or frames of several kinds were given and none was named.
    """
    known = get_args(Kind)
    if to is None:
        if len(set(kinds.values())) == 1:
            return next(iter(kinds.values()))
        shown = ", ".join(f"{name} of {kind}" for name, kind in kinds.items())
        message = (
            f"run_frames: expected frames of one kind, or to=, but got {shown}; say what comes out, as in to='arrow'"
        )
        raise InvalidArgument(message)
    if to not in known:
        shown = ", ".join(map(repr, known))
        message = f"run_frames: expected to= to be one of {shown} but got {to=!r} (type={type(to).__name__})"
        raise InvalidArgument(message)
    return to  # type: ignore[return-value]  # it is one of them


def maker(kind: Kind, relation: Any) -> Callable[[pa.Table], Any]:
    """Return what makes a frame of a kind of an Arrow table.

    Args:
        kind: The kind.
        relation: A relation of DuckDB among the frames, whose connection is used; None: DuckDB's own connection is.

    Raises:
        ImportError: The library is not there.
    """
    if kind == "arrow":
        return _same
    if kind == "duckdb":
        duckdb = import_module("duckdb")
        return duckdb.from_arrow if relation is None else lambda table: _related(relation, table)
    library = import_module(kind.partition("_")[0])
    if kind == "pandas":
        return lambda table: _in_pandas(table, library)
    return lambda table: library.from_arrow(table).lazy() if kind == "polars_lazy" else library.from_arrow(table)


def _same(table: pa.Table) -> pa.Table:
    return table


def _related(relation: Any, table: pa.Table) -> Any:
    results = table  # noqa: F841 - DuckDB finds it by its name
    return relation.query("cartesius_input", "SELECT * FROM results")


def _in_pandas(table: pa.Table, pandas: Any) -> Any:
    """Return a frame of pandas; integers and truth values among which are nulls stay what they are."""
    exact = {
        **{getattr(pa, f"{sign}int{bits}")(): getattr(pandas, f"{sign.upper()}Int{bits}Dtype")()
           for sign in ("", "u") for bits in (8, 16, 32, 64)},
        pa.bool_(): pandas.BooleanDtype(),
    }  # fmt: skip
    frame = table.to_pandas()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and column.type in exact:
            frame[name] = column.to_pandas(types_mapper=exact.get)
    return frame
