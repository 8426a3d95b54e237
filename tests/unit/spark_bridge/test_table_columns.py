"""What fields a table can hold, and which tables are of other fields: none of it needs a database."""

import pytest
from pyspark.sql import types as t

from cartesius.errors import InvalidArgument
from spark_bridge.columns.table_columns import check_columns, check_delta_fields, check_postgresql_fields


def fields(*names, **kinds):
    kinds = {"key": t.LongType(), **dict.fromkeys(names, t.StringType()), **kinds}
    return t.StructType([t.StructField(name, kind) for name, kind in kinds.items()])


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["output", "xmin"], "but got 'xmin', which PostgreSQL has for itself; yield another name"),
        (["ctid"], "'ctid', which PostgreSQL has for itself"),
        (["n" * 63 + "a", "n" * 63 + "b"], "b', which PostgreSQL cuts at 63 bytes, as 'n"),
        (["ï" * 31 + "na", "ï" * 31 + "n"], "n', which PostgreSQL cuts at 63 bytes, as 'ï"),
    ],
)
def test_names_that_no_table_of_postgresql_can_have_together_are_refused(names, said):
    with pytest.raises(InvalidArgument, match=f"^to_postgresql: expected fields that can be columns .*{said}"):
        check_postgresql_fields(fields(*names))


def test_names_that_a_table_can_have_are_not():
    check_postgresql_fields(fields("output", "XMIN", "Output", "n" * 70, "n" * 62, "naïve name"))
    check_delta_fields(fields("output", "xmin", "n" * 70, "a.b", "a`b", "naïve", "_metadata"))


@pytest.mark.parametrize("name", [f"a{character}b" for character in " ,;{}()\n\t="])
def test_names_that_delta_cannot_have_are_refused_wherever_they_are(name):
    inner = t.StructType([t.StructField(name, t.LongType())])
    for schema in (
        fields(name),
        fields(inner=inner),
        fields(list=t.ArrayType(inner)),
        fields(map=t.MapType(t.StringType(), inner)),
    ):
        with pytest.raises(
            InvalidArgument, match=r"^to_delta: expected fields that can be columns but got 'a.*b', as D"
        ):
            check_delta_fields(schema)


def test_names_that_delta_takes_for_one_are_refused():
    with pytest.raises(InvalidArgument, match="but got 'V', which Delta takes for 'v'; yield another name"):
        check_delta_fields(fields("v", "V"))


@pytest.mark.parametrize(("check", "sink"), [(check_postgresql_fields, "postgresql"), (check_delta_fields, "delta")])
@pytest.mark.parametrize("kind", [t.DayTimeIntervalType(), t.YearMonthIntervalType(), t.NullType(), t.VariantType()])
def test_types_that_a_column_cannot_have_are_refused(check, sink, kind):
    for each, place in ((kind, "v"), (t.ArrayType(kind), r"v\[\]")):
        with pytest.raises(
            InvalidArgument, match=f"^to_{sink}: .* but got results.{place}: {kind.simpleString()}; cast"
        ):
            check(fields(v=each))


def test_a_key_that_delta_cannot_look_up_is_refused():
    kind = t.MapType(t.StringType(), t.LongType())
    for key in (kind, t.StructType([t.StructField("a", kind)])):
        with pytest.raises(
            InvalidArgument, match=r"^to_delta: expected keys that Spark can compare but got .*map<string"
        ):
            check_delta_fields(fields(key=key))
        check_postgresql_fields(fields(key=key))


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (
            {"key": "bigint"},
            "to have a column 'v' but it was made of other fields; add it (ALTER TABLE t ADD COLUMN <v>",
        ),
        (
            {"key": "bigint", "v": "bigint"},
            "the column 'v' of the table t to be of the field's type double but it is big",
        ),
        (
            {"key": "text", "v": "double"},
            "the column 'key' of the table t to be of the field's type bigint but it is text",
        ),
        ({"key": "bigint", "v": "double", "w": "text"}, "all columns of the table t but there is no field 'w'"),
    ],
)
def test_a_table_of_other_fields_is_refused(there, said):
    with pytest.raises(InvalidArgument) as raised:
        check_columns("to_x", "t", there, {"key": "bigint", "v": "double"}, "<{}>".format)
    assert said in str(raised.value)
    assert str(raised.value).startswith("to_x: expected ")


def test_a_table_of_the_same_fields_in_another_order_is_not():
    check_columns("to_x", "t", {"v": "double", "key": "bigint"}, {"key": "bigint", "v": "double"}, repr)
