"""One of every Arrow type, with nulls, empty values and extremes: what the tests of types put and compare.

``ARRAYS`` and ``DICTIONARIES`` map a name to a function of a row count. What it makes is the same in every run, lies in
the middle of a longer array, and starts within a byte of its bitmaps. ``table`` puts arrays side by side, and
``TABLES`` has the tables whose shape is the point.
"""

from __future__ import annotations

import decimal
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

Make = Callable[[int], pa.Array]

_BEFORE = 13
"""Rows before and after the ones that are asked for: no offset starts at zero, no bitmap at a byte."""

_LONG = "a text that is too long for a view to hold it inside "


def _sliced(make: Make) -> Make:
    return lambda rows: make(rows + 2 * _BEFORE).slice(_BEFORE, rows)


def _cycle(kind: pa.DataType, values: Sequence[object]) -> Make:
    """Rows that go through ``values`` again and again."""
    return _sliced(lambda rows: pa.array(list(itertools.islice(itertools.cycle(values), rows)), kind))


def _each(kind: pa.DataType, value: Callable[[int], object], null_every: int = 5) -> Make:
    """Rows that are ``value`` of their number, each ``null_every``-th null."""

    def make(rows: int) -> pa.Array:
        return pa.array([None if i % null_every == null_every - 1 else value(i) for i in range(rows)], kind)

    return _sliced(make)


def _view(of: pa.DataType, kind: pa.DataType, values: Sequence[int | None]) -> Make:
    """Values of ``kind`` by the numbers that they are made of."""
    inner = _cycle(of, values)
    return lambda rows: inner(rows).view(kind)


def _signed(bits: int) -> list[int | None]:
    return [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0, None, -1]


def _unsigned(bits: int) -> list[int | None]:
    return [0, 2**bits - 1, None, 2 ** (bits - 1)]


def _float(numpy_type: type, signalling: int) -> Make:
    """Limits, signed zeros, infinities and two different NaNs."""
    limits = np.finfo(numpy_type)
    values = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 0.0, limits.max, limits.min, limits.smallest_subnormal, 1.5], numpy_type
    )
    values.view(f"u{values.itemsize}")[5] = signalling

    def make(rows: int) -> pa.Array:
        repeated = np.resize(values, rows)
        return pa.array(repeated, mask=np.arange(rows) % 7 == 6, from_pandas=False)

    return _sliced(make)


def _decimal(kind: Callable[..., pa.DataType], precision: int, scale: int) -> Make:
    """Decimals by the integers that they scale: a view, because pyarrow converts no number to a negative scale."""
    numbers = [10**precision - 1, 1 - 10**precision, 0, None, 7]
    whole = _cycle(kind(precision, 0), [None if n is None else decimal.Decimal(n) for n in numbers])
    return lambda rows: whole(rows).view(kind(precision, scale))


_DAY_MS = 86_400_000
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
ZONES = ["UTC", "+07:30", "America/Argentina/ComodRivadavia", "Nowhere/ a zone that is none é"]
"""Zones are text that nobody here interprets: they come back as they are spelled."""


def _numbers() -> dict[str, Make]:
    made: dict[str, Make] = {"null": pa.nulls, "bool": _cycle(pa.bool_(), [True, False, None, False, True])}
    for bits in (8, 16, 32, 64):
        made[f"int{bits}"] = _cycle(getattr(pa, f"int{bits}")(), _signed(bits))
        made[f"uint{bits}"] = _cycle(getattr(pa, f"uint{bits}")(), _unsigned(bits))
    made["float16"] = _float(np.float16, 0x7C01)
    made["float32"] = _float(np.float32, 0x7F80_0001)
    made["float64"] = _float(np.float64, 0xFFF0_0000_0000_0001)
    for bits, precision in ((32, 9), (64, 18), (128, 38), (256, 76)):
        kind = getattr(pa, f"decimal{bits}")
        for scale in (0, precision, 2, -3):
            made[f"decimal{bits} of scale {scale}"] = _decimal(kind, precision, scale)
    return made


def _times() -> dict[str, Make]:
    made: dict[str, Make] = {
        "date32": _view(pa.int32(), pa.date32(), _signed(32)),
        "date64": _view(pa.int64(), pa.date64(), [-_DAY_MS, 10**8 * _DAY_MS, None, 0]),
        "interval": _cycle(
            pa.month_day_nano_interval(),
            [pa.MonthDayNano([2**31 - 1, -(2**31), 2**63 - 1]), None, pa.MonthDayNano([0, 1, -(2**63)])],
        ),
    }
    for unit, per_second in _UNITS.items():
        width, make = (32, pa.time32) if unit in ("s", "ms") else (64, pa.time64)
        of = pa.int32() if width == 32 else pa.int64()
        made[f"time{width} {unit}"] = _view(of, make(unit), [0, 86_400 * per_second - 1, None])
        made[f"duration {unit}"] = _view(pa.int64(), pa.duration(unit), _signed(64))
        made[f"timestamp {unit}"] = _view(pa.int64(), pa.timestamp(unit), _signed(64))
    for zone in ZONES:
        made[f"timestamp {zone}"] = _view(pa.int64(), pa.timestamp("us", zone), _signed(64))
    return made


def _texts() -> dict[str, Make]:
    text = ["", "a", None, "ß" * 40, "\x00", "x" * 13, "x" * 12, _LONG]
    data = [None if t is None else t.encode() + b"\xff\xfe" for t in text] + [b""]
    made = {
        f"{kind}": _cycle(kind, text if "string" in str(kind) else data)
        for kind in (
            pa.string(),
            pa.large_string(),
            pa.string_view(),
            pa.binary(),
            pa.large_binary(),
            pa.binary_view(),
        )
    }
    made["long views"] = _each(pa.string_view(), lambda i: f"{_LONG}{i}")
    made["short views"] = _each(pa.binary_view(), lambda i: b"%d" % i)
    made["fixed size binary"] = _cycle(pa.binary(3), [b"abc", None, b"\x00\xff\x00"])
    made["fixed size binary of width 0"] = _cycle(pa.binary(0), [b"", None, b""])
    return made


def _lists() -> dict[str, Make]:
    numbers = [[1, None, -(2**31)], [], None, list(range(20)), [0]]
    pair = pa.struct({"a": pa.int64(), "b": pa.string()})
    made = {
        f"{make.__name__}": _cycle(make(pa.int32()), numbers)
        for make in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)
    }
    return made | {
        "list of text": _cycle(pa.list_(pa.string()), [["", None, "abc"], [], None, [_LONG]]),
        "list of bool": _cycle(pa.list_(pa.bool_()), [[True, None], [], [False] * 9, None]),
        "list of null": _cycle(pa.list_(pa.null()), [[None, None], [], None]),
        "list view of list view of text view": _cycle(
            pa.list_view(pa.list_view(pa.string_view())), [[["a", _LONG], None], [], None, [[]]]
        ),
        "list that may not hold nulls": _cycle(
            pa.list_(pa.field("element", pa.int8(), nullable=False, metadata={b"\xff": b"\x00"})), [[1, 2], []]
        ),
        "fixed size list": _cycle(pa.list_(pa.int16(), 3), [[1, None, 3], None, [4, 5, 6]]),
        "fixed size list of size 0": _cycle(pa.list_(pa.int16(), 0), [[], None, []]),
        "fixed size list of text": _cycle(pa.list_(pa.string(), 2), [["a", None], None, [_LONG, ""]]),
        "list of list of struct": _each(pa.list_(pa.list_(pair)), lambda i: [[{"a": i, "b": None}, None], [], None]),
    }


def _map_children() -> Make:
    key = pa.field("kk", pa.string(), nullable=False, metadata={"of": "the key"})
    value = pa.field("vv", pa.int32(), metadata={"of": "the value"})
    kind = pa.map_(key, value, keys_sorted=True)
    return _cycle(kind, [[("a", 1), ("b", None)], [], None])


def _structs() -> dict[str, Make]:
    leaf = pa.struct({"v": pa.int64(), "w": pa.string()})
    deep = pa.struct([pa.field("n", leaf, metadata={"of": "n"}), pa.field("", pa.bool_(), nullable=False)])
    rows = [{"n": {"v": 1, "w": None}, "": True}, {"n": None, "": False}, None]
    return {
        "struct": _cycle(deep, rows),
        "struct of no children": _cycle(pa.struct([]), [{}, None, {}]),
        "struct of a struct of no children": _cycle(pa.struct({"e": pa.struct([])}), [{"e": {}}, {"e": None}, None]),
        "map": _each(pa.map_(pa.string(), pa.int32()), lambda i: [(f"k{j}", None if j else i) for j in range(i % 4)]),
        "map of other child names": _map_children(),
        "map of map": _cycle(
            pa.map_(pa.int8(), pa.map_(pa.int8(), pa.string())), [[(1, [(2, "x"), (3, None)]), (4, None)], [], None]
        ),
    }


def _union(mode: str, code: int) -> Make:
    """A union of a number, a text and a null-only child; ``code`` is the text's type code."""
    names, codes = ["n", "s", "0"], [3, code, 7]

    def make(rows: int) -> pa.Array:
        turn = np.arange(rows) % 3
        types = pa.array(np.array(codes, np.int8)[turn])
        lengths = [rows] * 3 if mode == "sparse" else [int((turn == j).sum()) for j in range(3)]
        children = [
            pa.array(range(lengths[0]), pa.int64()),
            pa.array([None if i % 4 == 0 else f"u{i}" for i in range(lengths[1])], pa.string()),
            pa.nulls(lengths[2]),
        ]
        if mode == "sparse":
            return pa.UnionArray.from_sparse(types, children, names, codes)
        return pa.UnionArray.from_dense(types, pa.array(np.arange(rows) // 3, pa.int32()), children, names, codes)

    return _sliced(make)


def _runs(ends: pa.DataType, value: Callable[[int], object], kind: pa.DataType, length: int = 3) -> Make:
    def make(rows: int) -> pa.Array:
        stops = [*range(length, rows, length), rows]
        values = pa.array([None if i % 4 == 3 else value(i) for i in range(len(stops))], kind)
        return pa.RunEndEncodedArray.from_arrays(pa.array(stops, ends), values)

    return _sliced(make)


def _unions_and_runs() -> dict[str, Make]:
    return {
        "sparse union": _union("sparse", 5),
        "dense union": _union("dense", 127),
        "runs of text": _runs(pa.int32(), lambda i: f"run {i}", pa.string()),
        "runs of numbers by 16 bits": _runs(pa.int16(), lambda i: i, pa.int64(), 11),
        "runs of structs by 64 bits": _runs(pa.int64(), lambda i: {"a": i}, pa.struct({"a": pa.int32()})),
        "runs of lists": _runs(pa.int32(), lambda i: [i] * (i % 3), pa.list_(pa.int32()), 1),
    }


def _extension(kind: pa.BaseExtensionType, storage: Make) -> Make:
    return lambda rows: pa.ExtensionArray.from_storage(kind, storage(rows))


def _extensions() -> dict[str, Make]:
    uuid = _extension(pa.uuid(), _each(pa.binary(16), lambda i: b"%016d" % i))
    return {
        "uuid": uuid,
        "bool8": _extension(pa.bool8(), _cycle(pa.int8(), [0, 1, None, -1])),
        "json": _extension(pa.json_(), _cycle(pa.string(), ["{}", None, "[1]"])),
        "tensor": _extension(
            pa.fixed_shape_tensor(pa.int32(), [2, 2]), _each(pa.list_(pa.int32(), 4), lambda i: [i] * 4)
        ),
        "opaque": _extension(pa.opaque(pa.null(), "kind", "vendor"), pa.nulls),
        "list of uuid": lambda rows: pa.ListArray.from_arrays(
            pa.array(range(rows + 1), pa.int32()), uuid(rows + 3).slice(3)
        ),
    }


GROUPS: dict[str, dict[str, Make]] = {
    "numbers": _numbers(),
    "times": _times(),
    "texts": _texts(),
    "lists": _lists(),
    "structs": _structs(),
    "unions and runs": _unions_and_runs(),
    "extensions": _extensions(),
}
"""The arrays by kind: each group makes one table."""

ARRAYS: dict[str, Make] = {name: make for group in GROUPS.values() for name, make in group.items()}


def _coded(index: pa.DataType, values: pa.Array, ordered: bool = False) -> Make:
    """A dictionary array whose rows go through ``values``, each fifth row null."""

    def make(rows: int) -> pa.Array:
        numbers = [None if i % 5 == 4 else i % len(values) for i in range(rows)]
        return pa.DictionaryArray.from_arrays(pa.array(numbers, index), values, ordered=ordered)

    return _sliced(make)


def _around(inner: Make, kind: str) -> Make:
    """``inner`` within another type."""

    def make(rows: int) -> pa.Array:
        if kind == "list":
            offsets = pa.array([i - i % 3 for i in range(rows + 1)], pa.int32())
            return pa.ListArray.from_arrays(offsets, inner(rows))
        if kind == "fixed size list":
            return pa.FixedSizeListArray.from_arrays(inner(2 * rows), 2)
        if kind == "map":
            keys = pa.array([f"k{i}" for i in range(rows)])
            return pa.MapArray.from_arrays(pa.array(range(rows + 1), pa.int32()), keys, inner(rows))
        if kind == "runs":
            return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, rows + 1), pa.int32()), inner(rows))
        return pa.StructArray.from_arrays([inner(rows), pa.array(range(rows))], ["coded", "plain"])

    return _sliced(make)


def _dictionaries() -> dict[str, Make]:
    text = pa.array(["a", "", _LONG, "ß"])
    made = {f"by {bits}": _coded(getattr(pa, bits)(), text) for bits in ("int8", "int16", "int32", "int64")}
    made |= {f"by {bits}": _coded(getattr(pa, bits)(), text) for bits in ("uint8", "uint16", "uint32", "uint64")}
    made["ordered"] = _coded(pa.int8(), text, ordered=True)
    made["with a null value"] = _coded(pa.int8(), pa.array(["a", None, "b"]))
    of = ["int64", "decimal128 of scale 2", f"timestamp {ZONES[1]}", "large_binary", "string_view", "bool"]
    of += ["fixed size binary of width 0", "struct", "list of text", "map", "dense union", "uuid", "null"]
    made |= {f"of {name}": _coded(pa.int16(), ARRAYS[name](9)) for name in of}
    inner = made["by int8"]
    made |= {f"in a {kind}": _around(inner, kind) for kind in ("list", "fixed size list", "map", "struct", "runs")}
    made["of a struct of dictionaries"] = _coded(pa.int32(), made["in a struct"](8))
    made["of a list of dictionaries"] = _coded(pa.int32(), made["in a list"](8))
    return made


DICTIONARIES: dict[str, Make] = _dictionaries()
"""Dictionaries by every index type, of everything, and within everything."""


def table(arrays: dict[str, Make], rows: int, batch_rows: int | None = None) -> pa.Table:
    """The arrays side by side, each field with metadata of its own, in batches of ``batch_rows`` rows."""
    columns = [make(rows) for make in arrays.values()]
    fields = [
        pa.field(n, c.type, metadata={"name": n, b"\xff": b"\x00\xfe"}) for n, c in zip(arrays, columns, strict=True)
    ]
    schema = pa.schema(fields, metadata={"origin": "zoo", b"\xfe": b"", "": b"\xff"})
    whole = pa.RecordBatch.from_arrays(columns, schema=schema)
    step = batch_rows or max(rows, 1)
    return pa.Table.from_batches([whole.slice(at, step) for at in range(0, rows, step)], schema)


def _deep(levels: int) -> Make:
    kind, value = pa.int32(), 7
    for level in range(levels):
        if level % 2:
            kind, value = pa.struct([pa.field(f"level {level}", kind)]), {f"level {level}": value}
        else:
            kind, value = pa.list_(kind), [value, None]
    return _cycle(kind, [value, None])


def _of_no_columns(rows: int) -> pa.Table:
    return pa.Table.from_struct_array(pa.array([{}] * rows, pa.struct([])))


def _twins(rows: int) -> pa.Table:
    names = ["", "n", "", "n", "a.b", "0"]
    return pa.Table.from_arrays([pa.array([i * 10 + j for i in range(rows)]) for j in range(6)], names)


def _intervals(rows: int) -> pa.Table:
    """Months, and days with milliseconds: units that pyarrow reads, compares and shows, but has no arrays for.

    So the table is read from messages: a schema of those units over batches of integers.
    """
    names = ["months", "days and milliseconds"]
    schema = bytearray(pa.schema([(n, pa.month_day_nano_interval()) for n in names]).serialize())
    unit = len(schema)
    for number in (0, 1):
        unit = schema.rindex(b"\x02\x00", 0, unit)
        schema[unit] = number
    columns = [_cycle(pa.int32(), _signed(32))(rows), _cycle(pa.int64(), _signed(64))(rows)]
    batch = pa.RecordBatch.from_arrays(columns, names).serialize().to_pybytes()
    return pa.ipc.open_stream(bytes(schema) + batch).read_all()


def _wide(rows: int) -> pa.Table:
    return pa.table({f"c{i}": pa.array([i + j if (i + j) % 4 else None for j in range(rows)]) for i in range(5000)})


TABLES: dict[str, Callable[[int], pa.Table]] = {
    "no columns": _of_no_columns,
    "names that are empty, repeated, dotted or numbers": _twins,
    "intervals": _intervals,
    "5000 columns": _wide,
    "30 levels": lambda rows: table({"deep": _deep(30), "flat": ARRAYS["int8"]}, rows),
    "one null-only column": lambda rows: table({"null": pa.nulls}, rows),
}
"""Tables by row count whose shape is the point."""
