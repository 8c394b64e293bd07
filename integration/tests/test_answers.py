"""Answers that would grow with what is asked: bounded, and refused with what to do."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.flight as fl
import pytest

from service import Client, Server


def test_tickets_of_many_partitions(client: Client) -> None:
    table = pa.table({"k": range(3000)})
    client.put_batches("answers/many", table.schema, table.to_batches(max_chunksize=1), batching="keep")
    assert len(client.info("answers/many", partitions=3000).endpoints) == 3000
    long = [["k", "in", list(range(3000))]]
    with pytest.raises(pa.ArrowInvalid, match="fewer partitions"):
        client.info("answers/many", partitions=3000, filters=long)
    assert len(client.info("answers/many", partitions=100, filters=long).endpoints) == 100


def test_statistics_of_very_many_batches(client: Client) -> None:
    table = pa.table({f"c{i}": [i] for i in range(2000)})
    client.put_batches("answers/wide", table.schema, table.to_batches() * 60, batching="keep")
    with pytest.raises(pa.ArrowInvalid, match="choose columns"):
        client.action("statistics", dataset="answers/wide", per_batch=True)
    assert len(client.action("statistics", dataset="answers/wide", per_batch=True, columns=["c7"])["batches"]) == 60
    assert client.get("answers/wide", statistics=True, batch_metadata=True, columns=["c7"]).num_rows == 120


def test_a_put_that_can_never_fit_does_not_hold_up_others(tmp_path) -> None:
    zeros = pa.table({"z": pa.array([0]).take(pa.array([0] * 8_000_000))})
    options = fl.FlightCallOptions(write_options=pa.ipc.IpcWriteOptions(compression="zstd"))
    with Server("--memory", "64MiB", "--put-wait", "60s") as server, server.client() as client:
        with pytest.raises(pa.ArrowInvalid, match="memory"):
            client.put("answers/bomb", zeros.combine_chunks(), options, codec="none")
        assert client.put("answers/small", pa.table({"k": [1]}))["rows"] == 1
