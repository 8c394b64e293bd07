"""A peer of the benchmark: what a Python developer gets from pyarrow's own Flight server, which is Arrow C++.

It keeps plain tables in memory, one for each path. A ticket is the JSON object {"dataset", "columns"}. It prints its
address on one line when it serves.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.flight as fl


class Peer(fl.FlightServerBase):
    """Tables by path. A put replaces its table when the whole stream has been read."""

    def __init__(self) -> None:
        super().__init__("grpc://127.0.0.1:0")
        self._tables: dict[str, pa.Table] = {}

    @staticmethod
    def _name(descriptor: fl.FlightDescriptor) -> str:
        return "/".join(part.decode() for part in descriptor.path)

    def do_put(self, context, descriptor, reader, writer) -> None:
        self._tables[self._name(descriptor)] = reader.read_all()

    def do_get(self, context, ticket) -> fl.RecordBatchStream:
        request = json.loads(ticket.ticket)
        table = self._tables[request["dataset"]]
        columns = request.get("columns")
        return fl.RecordBatchStream(table if columns is None else table.select(columns))

    def get_flight_info(self, context, descriptor) -> fl.FlightInfo:
        name = self._name(descriptor)
        table = self._tables[name]
        ticket = fl.Ticket(json.dumps({"dataset": name}))
        endpoints = [fl.FlightEndpoint(ticket, [])]
        return fl.FlightInfo(table.schema, descriptor, endpoints, table.num_rows, table.nbytes)


if __name__ == "__main__":
    server = Peer()
    print(f"grpc://127.0.0.1:{server.port}", flush=True)
    server.serve()
