"""Geometries and geographies of Spark, which has them from 4.2 on: they come back, and others know them."""

from __future__ import annotations

import json

import pytest
from pyspark.errors import PySparkException

from service import Client
from sparkling import Twins
from test_geoarrow import AWAY, EMPTY, POINT, hexed
from test_writes import write


def _rows() -> str:
    """Geometries and geographies of one reference system and of several; nulls and empty ones."""
    point, empty, away = (f"X'{wkb.hex()}'" for wkb in (POINT, EMPTY, AWAY))
    return f"""
      SELECT 1 AS id, st_geomfromwkb({point}) AS plain, st_geomfromwkb({point}, 3857) AS web,
        st_geogfromwkb({point}) AS earth, cast(st_geomfromwkb({point}, 4326) AS geometry(any)) AS some,
        cast(st_geogfromwkb({away}) AS geography(any)) AS rounds,
        array(st_geomfromwkb({away}, 4326), null) AS list,
        named_struct('g', st_geogfromwkb({away}),
          'm', map('k', cast(st_geomfromwkb({away}, 3857) AS geometry(any)))) AS deep
      UNION ALL SELECT 2, null, null, null, null, null, null, null
      UNION ALL SELECT 3, st_geomfromwkb({empty}), st_geomfromwkb({away}, 3857), st_geogfromwkb({empty}),
        cast(st_geomfromwkb({empty}, 0) AS geometry(any)), null, array(),
        named_struct('g', null, 'm', map('k', null))"""


SPATIAL = {
    "id": "id",
    **{c: f"concat(st_srid({c}), ' ', hex(st_asbinary({c})))" for c in ("plain", "web", "earth", "some", "rounds")},
    "list": "transform(list, g -> concat(st_srid(g), ' ', hex(st_asbinary(g))))",
    "deep.g": "concat(st_srid(deep.g), ' ', hex(st_asbinary(deep.g)))",
    "deep.m": "transform_values(deep.m, (k, g) -> concat(st_srid(g), ' ', hex(st_asbinary(g))))",
}
"""What shows all of each, of types that not every Python of Spark has values of."""


def test_geometries_come_back(twins: Twins, client: Client, name: str) -> None:
    rows = twins.spark.sql(_rows())
    write(rows.coalesce(1), twins, name, "append")
    back = twins.read(name)
    assert back._jdf.schema().asNullable().json() == rows._jdf.schema().asNullable().json()
    expected = rows.selectExpr(*SPATIAL.values()).collect()
    assert back.selectExpr(*SPATIAL.values()).collect() == expected
    assert expected[0][1:5] == (
        f"0 {hexed(POINT)}",
        f"3857 {hexed(POINT)}",
        f"4326 {hexed(POINT)}",
        f"4326 {hexed(POINT)}",
    )
    assert [r[0] for r in back.selectExpr("some IS NULL").collect()] == [False, True, False]
    assert back.where("earth IS NOT NULL").count() == 2
    # What was read can be written, and rows are held in Spark's own form on the way.
    write(back.orderBy("id").coalesce(1), twins, name, "append")
    again = twins.read(name).selectExpr(*SPATIAL.values()).collect()
    assert again == expected + expected


def test_geometries_are_those_of_geoarrow_to_others(twins: Twins, client: Client, name: str) -> None:
    """The metadata is that of the extension type ``geoarrow.wkb``; the values are WKB and no more."""
    write(twins.spark.sql(_rows()).coalesce(1), twins, name, "append")
    got = client.get(name)
    about = {f.name: f.metadata for f in got.schema if f.metadata and b"ARROW:extension:name" in f.metadata}
    assert {c: m[b"ARROW:extension:name"] for c, m in about.items()} == dict.fromkeys(about, b"geoarrow.wkb")
    assert {c: json.loads(m[b"ARROW:extension:metadata"]) for c, m in about.items()} == {
        "plain": {},
        "web": {"crs": "EPSG:3857", "crs_type": "authority_code"},
        "earth": {"crs": "OGC:CRS84", "crs_type": "authority_code", "edges": "spherical"},
    }
    assert got["plain"].to_pylist() == [POINT, None, EMPTY]
    assert got["earth"].to_pylist() == [POINT, None, EMPTY]
    assert got["some"].to_pylist() == [{"srid": 4326, "wkb": POINT}, None, {"srid": 0, "wkb": EMPTY}]
    inner = got.schema.field("some").type.field("wkb")
    assert inner.metadata[b"ARROW:extension:name"] == b"geoarrow.wkb"
    assert got["list"].to_pylist() == [[AWAY, None], None, []]


def test_a_geometry_of_another_reference_system_is_refused(twins: Twins, client: Client, name: str) -> None:
    write(twins.spark.sql(f"SELECT st_geomfromwkb(X'{POINT.hex()}', 3857) AS x"), twins, name, "append")
    with pytest.raises(
        PySparkException, match=r"column x is GEOMETRY\(3857\), and GEOMETRY\(4326\) in the rows; cast it"
    ):
        write(twins.spark.sql(f"SELECT st_geomfromwkb(X'{POINT.hex()}', 4326) AS x"), twins, name, "append")
    assert client.describe(name)["rows"] == 1
