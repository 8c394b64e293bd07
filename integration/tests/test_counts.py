"""Counting reads no payload: shown by a server whose payloads can no longer be read."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import tables
from service import TRAP_BINARY, Server


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_metadata_answers_with_every_payload_unreadable(codec: str) -> None:
    rows = 50_000
    data = tables.table("flat", rows)
    with Server(binary=TRAP_BINARY) as server, server.client() as client:
        facts = client.put("sales/2024", data, codec=codec)
        client.action("trap")

        assert client.info("sales/2024").total_records == rows
        one = client.info("sales/2024", columns=["id"])
        assert one.total_records == rows
        assert 0 < one.total_bytes < client.info("sales/2024").total_bytes
        assert client.names() == ["sales/2024"]
        assert client.describe("sales/2024")["rows"] == rows
        assert client.describe("sales/2024")["stored_bytes"] == facts["stored_bytes"]
        by_path = fl.FlightDescriptor.for_path("sales", "2024")
        assert client.flight.get_schema(by_path).schema.equals(data.schema)
        assert client.stats()["rows_in"] == rows

        # The trap is real: a read of the same dataset cannot succeed. The process may not survive it.
        with pytest.raises(pa.ArrowException):
            client.get("sales/2024")
        server.kill()
