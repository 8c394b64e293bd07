"""What stock clients cannot put or read: the expectations of tests/test_clients.py, and the tables of CLIENTS.md.

Each limit is the client library's own, in the version that the project pins. Everything that is not listed here is put
and read exactly. ``python integration/client_limits.py`` writes CLIENTS.md anew.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

DOCUMENT = Path(__file__).with_name("CLIENTS.md")
_BEGIN, _END = "<!-- limits: written by client_limits.py -->\n", "<!-- end of limits -->\n"


@dataclass(frozen=True)
class Limit:
    """One thing that ``client`` cannot do with the tables whose name matches one of ``tables``.

    ``put`` and ``get`` are the steps at which it fails, as the clients print them; empty where it does not fail.
    ``error`` is a part of the library's error. With ``loses`` its put succeeds, but what every reader then finds is not
    what the file holds.
    """

    client: str
    tables: tuple[str, ...]
    reason: str
    error: str
    put: str = ""
    get: str = ""
    loses: bool = False

    def covers(self, client: str, table: str) -> bool:
        return client == self.client and any(fnmatch.fnmatchcase(table, pattern) for pattern in self.tables)


_NOT_UTF8 = ("list that may not hold nulls", "metadata that is not UTF-8")

LIMITS = [
    Limit(
        "Python",
        ("dictionary of uuid",),
        "a dictionary of extension values is written with the extension's name on the dictionary, and not read back",
        "Invalid storage type for UuidType",
        get="call",
    ),
    Limit(
        "Go",
        ("map of other child names",),
        "a put renames the children of a map to key and value",
        "",
        loses=True,
    ),
    Limit(
        "Go",
        ("fixed size list of size 0",),
        "a fixed size list of size 0 is refused",
        "invalid size",
        put="file",
        get="file",
    ),
    Limit(
        "Go",
        ("dense union",),
        "a dense union with the type code 127 cannot be written",
        "makeslice: len out of range",
        put="call",
    ),
    Limit(
        "Go",
        ("dictionary of dense union",),
        "a dictionary whose values are a dense union cannot be read",
        "slice bounds out of range",
        put="file",
        get="file",
    ),
    Limit(
        "Java",
        ("decimal32*", "decimal64*"),
        "there is no decimal of 32 or 64 bits",
        "Library only supports 128-bit and 256-bit decimal values",
        put="file",
        get="file",
    ),
    Limit(
        "Java",
        ("fixed size binary of width 0", "dictionary of fixed size binary of width 0"),
        "fixed size binary of width 0 cannot be loaded",
        "/ by zero",
        put="file",
        get="file",
    ),
    Limit(
        "Java",
        ("dense union", "dictionary of dense union"),
        "a dense union with a null-only child cannot be loaded",
        "Could not load buffers for field 0: Null",
        put="file",
        get="file",
    ),
    Limit(
        "Java",
        ("sparse union", "common sparse union"),
        "a sparse union is loaded, but its values are looked for under type codes of the library's own",
        "out of range",
        get="values",
    ),
    Limit(
        "Java",
        _NOT_UTF8,
        "metadata must be UTF-8",
        "Invalid UTF-8",
        put="file",
        get="file",
    ),
    Limit(
        "Java",
        ("dictionary of list of text", "dictionary of a list of dictionaries"),
        "a put renames the child of a list that is a dictionary's value",
        "",
        loses=True,
    ),
    Limit(
        "Java",
        ("dictionary that is replaced",),
        "a put sends the dictionaries of the first batch only; later batches then refer to the wrong values",
        "",
        loses=True,
    ),
    Limit(
        "Rust",
        _NOT_UTF8,
        "metadata must be UTF-8",
        "Utf8Error",
        put="file",
        get="file",
    ),
    Limit(
        "Rust",
        ("dense union", "sparse union", "common * union"),
        "a put drops nullability and metadata of a union's field",
        "",
        loses=True,
    ),
]


def limits_of(client: str, table: str) -> list[Limit]:
    """What is known of ``client`` and ``table``: no more than one limit of puts and one of reads."""
    return [limit for limit in LIMITS if limit.covers(client, table)]


def _can(limit: Limit) -> tuple[str, str]:
    put = "loses" if limit.loses else "no" if limit.put else "yes"
    get = "no" if limit.get else "yes"
    return put, get


def _cells(rows: Iterable[Iterable[str]]) -> Iterator[str]:
    for row in rows:
        yield "| " + " | ".join(row) + " |\n"


def _rows(clients: Iterable[str], tables: Iterable[str]) -> Iterator[list[str]]:
    """Each table that a client has a limit with: its name, and one cell for each client."""
    for table in sorted(tables):
        row = [table]
        for client in clients:
            known = [_can(limit) for limit in limits_of(client, table)]
            put = next((p for p, _ in known if p != "yes"), "yes")
            get = next((g for _, g in known if g != "yes"), "yes")
            row.append("yes" if put == get == "yes" else f"put {put}, read {get}")
        if set(row[1:]) != {"yes"}:
            yield row


def document(clients: list[str], tables: list[str]) -> str:
    """The tables of CLIENTS.md, with the marks that they lie between."""
    reasons = [
        [limit.client, ", ".join(f"`{t}`" for t in limit.tables), *_can(limit), limit.reason] for limit in LIMITS
    ]
    lines = [
        _BEGIN,
        "\n",
        "What is not listed here is put and read exactly by every client, whichever client wrote it.\n",
        "\n",
        *_cells([["Table", *clients], ["---"] * (len(clients) + 1), *_rows(clients, tables)]),
        "\n",
        *_cells([["Client", "Tables", "Put", "Read", "Why"], ["---"] * 5, *reasons]),
        "\n",
        _END,
    ]
    return "".join(lines)


def placed(text: str, tables: str) -> str:
    """``text`` with ``tables`` in the place of those between the marks."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + tables + after


def main() -> None:
    """Write the tables of CLIENTS.md anew."""
    import clients

    written = document(clients.ALL, list(clients.tables()))
    DOCUMENT.write_text(placed(DOCUMENT.read_text(encoding="utf-8"), written), encoding="utf-8")


if __name__ == "__main__":
    main()
