"""Stock Flight clients in other languages, each a small program that writes and reads a folder of tables.

``make build-clients`` builds the programs from integration/goclient, integration/java and integration/rust. They agree
on their command line and on what they print; integration/goclient/doc.go says what. What each of them cannot do, and
why, is in client_limits.py.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import tables as tables_by_size
import zoo
from service import ROOT

ROWS = 120
BATCH_ROWS = 50
SECONDS = 120

_JAVA = ROOT / ".cache" / "java"
COMMANDS: dict[str, list[str]] = {
    "Go": [str(ROOT / "bin" / "goclient")],
    "Java": [
        "java",
        "-Xmx256m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "--add-opens=java.base/java.nio=ALL-UNNAMED",
        "-cp",
        os.pathsep.join([str(_JAVA / "classes"), str(_JAVA / "lib" / "*")]),
        "zooclient.Main",
    ],
    "Rust": [str(ROOT / ".cache" / "rust-target" / "debug" / "zooclient")],
}
"""How each client is started, without arguments. The client in Python is the tests' own."""

ALL = ["Python", *COMMANDS]


@dataclass(frozen=True)
class Outcome:
    """What became of one dataset: ``step`` is ``ok`` or the step that failed, ``why`` its error."""

    step: str
    why: str = ""


def _plain(column: pa.Array, metadata: dict[str, str] | None = None) -> pa.Table:
    """The column between two others, in batches that begin within a byte of their bitmaps."""
    rows = pa.array(range(len(column)))
    fields = [
        pa.field("before", pa.int64(), nullable=False),
        pa.field("it", column.type, metadata={"of": "it"}),
        pa.field("after", pa.string()),
    ]
    columns = [rows, column, rows.cast(pa.string())]
    whole = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, metadata))
    return pa.Table.from_batches(whole.slice(at, BATCH_ROWS) for at in range(0, len(column), BATCH_ROWS))


def _without_metadata(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([field.remove_metadata() for field in table.schema]))


def _union(mode: str) -> pa.Array:
    """A union as most producers make it: type codes from zero, in the order of the children."""
    codes = pa.array([i % 2 for i in range(ROWS)], pa.int8())
    lengths = [ROWS, ROWS] if mode == "sparse" else [ROWS // 2, ROWS // 2]
    children = [pa.array(range(lengths[0])), pa.array([f"u{i}" for i in range(lengths[1])])]
    if mode == "sparse":
        return pa.UnionArray.from_sparse(codes, children, ["n", "s"])
    return pa.UnionArray.from_dense(codes, pa.array([i // 2 for i in range(ROWS)], pa.int32()), children, ["n", "s"])


def _replaced_dictionary() -> pa.Table:
    """Two batches, each with a dictionary of its own."""
    batches = [pa.array(values * 20).dictionary_encode() for values in (["a", "b", None], ["c", "a"])]
    return pa.Table.from_batches(pa.record_batch({"it": array}) for array in batches)


def tables() -> dict[str, pa.Table]:
    """A table for each type and shape of the zoo. The keys are names of datasets and of files.

    The zoo's own metadata is not UTF-8, which only some clients can read; here it is a table of its own.
    """
    made = {name: _plain(make(ROWS)) for name, make in zoo.ARRAYS.items()}
    made |= {f"dictionary {name}": _plain(make(ROWS)) for name, make in zoo.DICTIONARIES.items()}
    made |= {name: _without_metadata(make(3)) for name, make in zoo.TABLES.items()}
    made |= {f"common {mode} union": _plain(_union(mode)) for mode in ("sparse", "dense")}
    made["dictionary that is replaced"] = _replaced_dictionary()
    # One batch of more bytes than a message that stock clients accept.
    made["large batch"] = tables_by_size.table("flat", 90_000, batch_rows=90_000)
    made["metadata"] = _plain(zoo.ARRAYS["int8"](ROWS), {"origin": "zoo", "ß": "", "": "é"})
    made["metadata that is not UTF-8"] = zoo.table({"int8": zoo.ARRAYS["int8"]}, ROWS)
    made["no rows"] = made["struct"].slice(0, 0)
    return {name.replace("/", "-"): table for name, table in made.items()}


def shifted() -> dict[str, pa.Table]:
    """The tables of single types with the tested column one row later, where that makes a difference of values.

    Schema and number of rows stay.
    """
    makes = zoo.ARRAYS | {f"dictionary {name}": make for name, make in zoo.DICTIONARIES.items() if name != "of null"}
    columns = {name: (make(ROWS), make(ROWS + 1).slice(1)) for name, make in makes.items()}
    return {name.replace("/", "-"): _plain(later) for name, (now, later) in columns.items() if not now.equals(later)}


def write(folder: Path, data: dict[str, pa.Table]) -> None:
    """Writes each table as an Arrow IPC stream into ``folder``."""
    for name, table in data.items():
        with pa.ipc.new_stream(folder / f"{name}.arrows", table.schema) as writer:
            writer.write_table(table)


def little_java(mib: int) -> list[str]:
    """The command of the client in Java with so little memory, on its heap and beside it."""
    limits = [f"-Xmx{mib}m", f"-XX:MaxDirectMemorySize={mib}m"]
    return [part for given in COMMANDS["Java"] for part in (limits if given.startswith("-Xmx") else [given])]


def run(client: str, address: str, folder: Path, action: str, prefixes: Iterable[str]) -> dict[str, Outcome]:
    """Lets the client put or get every table of the folder under each prefix; gives the outcome of each dataset."""
    return dict(outcomes(COMMANDS[client], address, folder, action, prefixes))


def outcomes(
    command: list[str], address: str, folder: Path, action: str, prefixes: Iterable[str]
) -> list[tuple[str, Outcome]]:
    """What the client that ``command`` starts prints: each dataset, as often as it was told to put or get it."""
    told = [*command, address, str(folder), action, *prefixes]
    done = subprocess.run(told, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with code {done.returncode}: {done.stderr}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [(line["dataset"], Outcome(line["outcome"], line.get("why", ""))) for line in lines]
