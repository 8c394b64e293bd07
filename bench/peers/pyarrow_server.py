"""A peer of the benchmark: what a Python developer gets from pyarrow's own Flight server, which is Arrow C++.

It keeps plain tables in memory, one for each name. A put by path replaces its table; one with the JSON command
{"dataset", "mode": "append"} adds to it. A ticket is the JSON object {"dataset", "columns"}. It prints its address on
one line when it serves.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.flight as fl


class Peer(fl.FlightServerBase):
    """Tables by name. A put becomes visible when the whole stream has been read."""

    def __init__(self) -> None:
        super().__init__("grpc://127.0.0.1:0")
        self._tables: dict[str, pa.Table] = {}
        # Appended and not yet part of a table: concatenating at each append would cost the more, the more there are.
        self._appended: dict[str, list[pa.Table]] = {}

    def _table(self, name: str) -> pa.Table:
        if parts := self._appended.pop(name, None):
            self._tables[name] = pa.concat_tables([self._tables[name], *parts] if name in self._tables else parts)
        return self._tables[name]

    @staticmethod
    def _name(descriptor: fl.FlightDescriptor) -> str:
        return "/".join(part.decode() for part in descriptor.path)

    def do_put(self, context, descriptor, reader, writer) -> None:
        table = reader.read_all()
        if descriptor.command:
            self._appended.setdefault(json.loads(descriptor.command)["dataset"], []).append(table)
        else:
            self._tables[self._name(descriptor)] = table

    def do_get(self, context, ticket) -> fl.RecordBatchStream:
        request = json.loads(ticket.ticket)
        table = self._table(request["dataset"])
        columns = request.get("columns")
        return fl.RecordBatchStream(table if columns is None else table.select(columns))

    def _info(self, descriptor: fl.FlightDescriptor, name: str) -> fl.FlightInfo:
        table = self._table(name)
        ticket = fl.Ticket(json.dumps({"dataset": name}))
        endpoints = [fl.FlightEndpoint(ticket, [])]
        return fl.FlightInfo(table.schema, descriptor, endpoints, table.num_rows, table.nbytes)

    def get_flight_info(self, context, descriptor) -> fl.FlightInfo:
        return self._info(descriptor, self._name(descriptor))

    def list_flights(self, context, criteria):
        prefix = criteria.decode()
        for name in list(self._tables):
            if name.startswith(prefix):
                yield self._info(fl.FlightDescriptor.for_path(name), name)


if __name__ == "__main__":
    server = Peer()
    print(f"grpc://127.0.0.1:{server.port}", flush=True)
    server.serve()
