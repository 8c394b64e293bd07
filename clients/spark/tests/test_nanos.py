"""Timestamps of nanoseconds, which Spark has from 4.3 on, as a preview: they come back."""

from __future__ import annotations

import pyarrow as pa
import pytest

from service import Client
from sparkling import Twins
from test_writes import write


def test_timestamps_of_nanoseconds_come_back(twins: Twins, client: Client, name: str) -> None:
    """Spark's Python cannot name them: it sees them as text."""
    spark = twins.spark
    day, least = "2024-01-01 00:00:00.123456789", "1677-09-21 00:12:43.145224193"
    spark.conf.set("spark.sql.timestampNanosTypes.enabled", "true")
    try:
        rows = spark.sql(f"""
            SELECT 1 AS id, cast('{day}' AS timestamp_ntz(9)) AS t, cast('{day}' AS timestamp_ltz(8)) AS l,
              array(cast('{day}' AS timestamp_ntz(7)), null) AS a
            UNION ALL SELECT 2, null, null, null
            UNION ALL SELECT 3, cast('{least}' AS timestamp_ntz(9)),
              cast('1969-12-31 23:59:59.99999999' AS timestamp_ltz(8)), array()""")
        write(rows.coalesce(1), twins, name, "append")
        back = twins.read(name)
        assert back._jdf.schema().asNullable().json() == rows._jdf.schema().asNullable().json()
        shown = ["id", "string(t)", "string(l)", "string(a)"]
        expected = rows.selectExpr(*shown).collect()
        assert expected[0][1:3] == (day, day[:-1])
        assert expected[2][1] == least
        assert back.selectExpr(*shown).collect() == expected
        assert back.where(f"t = cast('{day}' AS timestamp_ntz(9))").select("id").collect() == [(1,)]
        assert back.selectExpr("string(min(t))", "string(max(t))", "count(l)").collect() == [(least, day, 2)]
        write(back.orderBy("id").coalesce(1), twins, name, "append")
        assert twins.read(name).selectExpr(*shown).collect() == expected + expected
        with pytest.raises(
            Exception, match=rf"dataset {name}/far: column t .* cannot hold 253370764800123456 microseconds"
        ):
            write(
                spark.sql("SELECT cast('9999-01-01 00:00:00.123456789' AS timestamp_ntz(9)) AS t"),
                twins,
                f"{name}/far",
                "append",
            )
    finally:
        spark.conf.unset("spark.sql.timestampNanosTypes.enabled")
    schema = client.get(name).schema
    assert [schema.field(c).type for c in ("t", "l")] == [pa.timestamp("ns"), pa.timestamp("ns", "UTC")]
    assert schema.field("a").type.value_type == pa.timestamp("ns")
