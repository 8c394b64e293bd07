"""Statistics in Arrow's own schema, as a read, and as JSON, as an action."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.flight as fl

from service import Client

TABLE = pa.table(
    {
        "n": pa.array([3, None, 1], pa.int32()),
        "f": [1.5, float("nan"), -2.0],
        "d": pa.array(["b", None, "a"]).dictionary_encode(),
        "s": pa.array([{"x": "low"}, None, {"x": "y" * 70}]),
    }
)


def rows(table: pa.Table) -> list[dict]:
    return [dict(statistics) for statistics in table["statistics"].to_pylist()]


def test_one_row_per_column(client: Client) -> None:
    client.put("stats/read", TABLE)
    command = json.dumps({"dataset": "stats/read", "statistics": True})
    read = client.flight.do_get(fl.Ticket(command)).read_all()
    read.validate(full=True)
    info = client.flight.get_flight_info(fl.FlightDescriptor.for_command(command))
    assert info.schema.equals(read.schema)
    assert info.total_records == read.num_rows == 6
    assert client.flight.do_get(info.endpoints[0].ticket).read_all().equals(read)
    assert client.flight.get_schema(fl.FlightDescriptor.for_command(command)).schema.equals(read.schema)
    assert read["column"].to_pylist() == [None, 0, 1, 2, 3, 4]
    whole, n, f, d, s, x = rows(read)
    assert whole == {"ARROW:row_count:exact": 3}
    assert (n["ARROW:null_count:exact"], n["ARROW:min_value:exact"], n["ARROW:max_value:exact"]) == (1, 1, 3)
    assert (f["ARROW:min_value:exact"], f["ARROW:max_value:exact"], f["flightcache:has_nan:exact"]) == (-2.0, 1.5, True)
    assert (d["ARROW:null_count:exact"], d["ARROW:min_value:exact"], d["ARROW:max_value:exact"]) == (1, "a", "b")
    assert s["ARROW:null_count:exact"] == 1
    assert (x["ARROW:null_count:exact"], x["ARROW:min_value:exact"]) == (1, "low")
    assert x["ARROW:max_value:approximate"] >= "y" * 63


def test_one_batch_per_stored_batch_and_chosen_columns(client: Client) -> None:
    client.put("stats/batches", TABLE, batching="keep")
    client.put("stats/batches", TABLE.slice(2), mode="append", batching="keep")
    command = {"dataset": "stats/batches", "statistics": True, "batch_metadata": True, "columns": ["s.x", "n"]}
    chunks = [
        (c.data, json.loads(c.app_metadata.to_pybytes())) for c in client.flight.do_get(fl.Ticket(json.dumps(command)))
    ]
    assert [facts for _, facts in chunks] == [{"batch": 0, "rows": 3}, {"batch": 1, "rows": 1}]
    for batch, count in zip((b for b, _ in chunks), (3, 1), strict=True):
        table = pa.Table.from_batches([batch])
        assert table["column"].to_pylist() == [None, 0, 1, 2]
        assert rows(table)[0] == {"ARROW:row_count:exact": count}
    assert rows(pa.Table.from_batches([chunks[1][0]]))[3]["ARROW:min_value:exact"] == 1


def test_action(client: Client) -> None:
    client.put("stats/action", TABLE)
    result = client.action("statistics", dataset="stats/action", columns=["n", "s"], per_batch=True)
    assert [c["path"] for c in result["columns"]] == ["n", "s", "s.x"]
    assert result["rows"] == 3
    assert result["columns"][0]["min"] == 1
    assert result["columns"][0]["null_count"] == 1
    assert len(result["batches"]) == 1
    assert result["batches"][0]["columns"][0]["max"] == 3
