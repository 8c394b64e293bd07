"""Everything by which a server knows itself and its callers changes while a get of a gibibyte runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
from test_identity import RULES, TABLE, Site, bearer, secret

from service import Client, wait

ROWS = pa.table({"x": pa.array(range(1 << 22), pa.int64())}).to_batches()[0]
TIMES = 32
"""How often the rows are put: a gibibyte in all."""


def count_checked(stream: fl.FlightStreamReader, most: int | None = None, before: int = 0) -> int:
    """Reads so many batches, or all, and compares each with the rows that were put; returns how many rows have come."""
    rows = before
    while most is None or most > 0:
        try:
            batch = stream.read_chunk().data
        except StopIteration:
            break
        at = rows % ROWS.num_rows
        assert batch.equals(ROWS.slice(at, batch.num_rows)), f"other rows than were put, from row {rows}"
        rows += batch.num_rows
        most = None if most is None else most - 1
    return rows


def refused(call: Callable[[], object], *errors: type[Exception]) -> bool:
    try:
        call()
    except errors:
        return True
    return False


def test_all_changes_during_a_get_of_a_gibibyte(tmp_path: Path) -> None:
    site = Site(tmp_path)
    listen = "grpc+tls://127.0.0.1:0?client-auth=require"
    old_files, old = site.authority.roots() | site.authority.own(), bearer(site.token)
    long = fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {site.token}".encode())])  # has no deadline
    with site.server(listen, flags=["--memory", "2GiB"]) as server, Client(server.address, **old_files) as client:
        log = server.log()
        assert '"names": ["localhost", "127.0.0.1"]' in log
        assert '"expires": ' in log
        facts = client.put_batches("sales/large", ROWS.schema, [ROWS] * TIMES, long, codec="none")
        assert facts["decoded_bytes"] == 1 << 30
        stream = client.flight.do_get(fl.Ticket(b"sales/large"), long)
        rows = count_checked(stream, most=1)

        def sees(files: dict[str, bytes], options: fl.FlightCallOptions) -> int:
            with Client(server.address, **files) as other:
                return len(list(other.flight.list_flights(b"", options)))

        # Files that are of no use change nothing.
        (site.authority.folder / "server.pem").write_text("half a certifi")
        site.write("tokens", "half a line")
        site.write("rules.yaml", "roles: {x: {reed: []}}")
        wait(lambda: "the files have changed but are of no use; what was read before stays" in server.log())
        wait(lambda: server.log().count("a file has changed but is of no use; what was read before stays") == 2)
        for why in ("half a certifi", "half a line"):
            assert why not in server.log()
        assert 'unknown field \\"reed\\"' in server.log()
        assert sees(old_files, old) == 1
        rows = count_checked(stream, most=1, before=rows)

        # Another authority, another token, and fewer rights.
        type(site.authority)(site.authority.folder)
        made = secret("token", "loader")
        site.write("tokens", made.stderr)
        site.write("rules.yaml", RULES.replace("loader: [all]", "loader: [analyst]"))
        new_files, new = site.authority.roots() | site.authority.own(), bearer(made.stdout.strip())
        wait(lambda: "new connections get another certificate" in server.log())
        wait(lambda: "identity: a file has changed" in server.log() and "permissions have changed" in server.log())
        rows = count_checked(stream, most=1, before=rows)
        assert sees(new_files, new) == 1
        assert refused(lambda: sees(old_files, new), fl.FlightUnavailableError)
        assert refused(lambda: sees(new_files, old), fl.FlightUnauthenticatedError)
        with Client(server.address, **new_files) as other:
            assert refused(lambda: other.put("sales/large", TABLE, new), fl.FlightUnauthorizedError)
        # The connection from before goes on; its calls show what is taken now.
        assert refused(lambda: client.get("sales/large", old, columns=[]), fl.FlightUnauthenticatedError)
        assert client.get("sales/large", new, columns=[], limit=5).num_rows == 5

        assert count_checked(stream, before=rows) == TIMES * ROWS.num_rows
        last = [line for line in server.log().splitlines() if '"rpc": "DoGet"' in line][-1]
        assert json.loads(last[last.index("{") :])["bytes"] > 1 << 30
