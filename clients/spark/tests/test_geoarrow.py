"""Geometries of other programs, by the convention of GeoArrow: read as Spark's, and appended to."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pytest

from service import Client
from sparkling import VERSION, Twins
from test_writes import write

POINT, EMPTY, AWAY = (bytes.fromhex(text) for text in (
    "0101000000000000000000f03f0000000000000040", "010700000000000000", "010100000000000000000024400000000000003440",
))  # fmt: skip
"""Well-known binary: a point, a collection of nothing, and another point."""


def hexed(wkb: bytes) -> str:
    """As Spark's hex shows it."""
    return wkb.hex().upper()


GEOARROW = [
    (None, "geometry(0)"),
    ({"crs": "EPSG:4326"}, "geometry(4326)"),
    ({"crs": "OGC:CRS84", "crs_type": "authority_code", "edges": "planar"}, "geometry(4326)"),
    ({"crs": "OGC:CRS84", "edges": "spherical"}, "geography(4326)"),
    ({"crs": {"type": "ProjectedCRS", "id": {"authority": "EPSG", "code": 3857}}}, "geometry(3857)"),
    ({"crs": "3857", "crs_type": "srid"}, "geometry(3857)"),
    # What Spark has no type for.
    ({"crs": "EPSG:99999999"}, "binary"),
    ({"crs": "OGC:CRS84", "edges": "vincenty"}, "binary"),
    ({"crs": 'GEOGCRS["WGS 84"]', "crs_type": "wkt2:2019"}, "binary"),
    ({"edges": "spherical"}, "binary"),
]


@pytest.mark.parametrize("storage", [pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
def test_geometries_of_other_programs(twins: Twins, client: Client, name: str, storage: pa.DataType) -> None:
    """Those whose reference system Spark knows are its own types, others binary.

    In a Spark without these types all are binary.
    """
    values = [POINT, None, EMPTY]
    fields, columns = [pa.field("id", pa.int32())], [pa.array([0, 1, 2], pa.int32())]
    for i, (about, _) in enumerate(GEOARROW):
        notes = {"ARROW:extension:name": "geoarrow.wkb"}
        if about is not None:
            notes["ARROW:extension:metadata"] = json.dumps(about)
        fields.append(pa.field(f"c{i}", storage, metadata=notes))
        columns.append(pa.array(values, storage))
    fields.append(pa.field("odd", storage, metadata=notes | {"ARROW:extension:metadata": "no JSON"}))
    columns.append(pa.array(values, storage))
    client.put(name, pa.table(columns, schema=pa.schema(fields)))
    frame = twins.read(name)
    kinds = dict(frame.dtypes)
    expected = {f"c{i}": kind if VERSION >= (4, 2) else "binary" for i, (_, kind) in enumerate(GEOARROW)}
    assert kinds == {"id": "int", "odd": "binary"} | expected
    for column, kind in expected.items():
        if kind == "binary":
            got = frame.select(column).collect()
            assert [r[0] and bytes(r[0]) for r in got] == values
        else:
            srid = re.sub(r"\D", "", kind)
            got = frame.selectExpr(f"concat(st_srid({column}), ' ', hex(st_asbinary({column})))").collect()
            assert [r[0] for r in got] == [f"{srid} {hexed(POINT)}", None, f"{srid} {hexed(EMPTY)}"]
    write(frame.where("id = 0"), twins, name, "append")
    after = client.get(name)
    assert after.schema.types == [f.type for f in fields]
    assert all(after[f"c{i}"].to_pylist() == [*values, POINT] for i in range(len(GEOARROW)))
