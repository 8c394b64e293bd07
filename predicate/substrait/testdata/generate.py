"""Write samples.json: the filters that DuckDB and polars push down into a pyarrow dataset, and what pyarrow can write.

Needs pyarrow, duckdb and polars:

    python testdata/generate.py

Each sample has the client's own text of the filter ("filter"), the pyarrow expression that arrived ("expression"), and
the bytes of Expression.to_substrait in base64 ("message"). What a client does not push down, or pyarrow cannot write,
is listed with the reason ("refused") instead.
"""

import base64
import datetime as dt
import decimal
import json
import pathlib

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

# A column of string views would keep DuckDB from pushing anything down.
SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("u8", pa.uint8()),
        ("u64", pa.uint64()),
        ("i32", pa.int32()),
        ("f", pa.float64()),
        ("f4", pa.float32()),
        ("b", pa.bool_()),
        ("s", pa.string()),
        ("ls", pa.large_string()),
        ("bin", pa.binary()),
        ("fb", pa.binary(2)),
        ("d", pa.date32()),
        ("ts", pa.timestamp("us")),
        ("ms", pa.timestamp("ms")),
        ("tz", pa.timestamp("us", "UTC")),
        ("dec", pa.decimal128(10, 2)),
        ("t", pa.time64("us")),
        ("ls_st", pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())]))),
        ("st", pa.struct([("a", pa.int64()), ("n", pa.struct([("v", pa.string())]))])),
        ("dic", pa.dictionary(pa.int32(), pa.string())),
    ]
)


class Catcher(ds.Dataset):
    """A dataset that keeps the filters it is asked for and has no rows."""

    def __init__(self):
        self.filters = []

    def caught(self):
        """Return the one filter, or None: a client may ask more than once, and for other things without one."""
        caught = [f for f in self.filters if f is not None]
        assert len(caught) < 2, caught
        return caught[0] if caught else None

    @property
    def schema(self):
        return SCHEMA

    def scanner(self, columns=None, filter=None, **options):
        self.filters.append(filter)
        return ds.Scanner.from_batches([], schema=SCHEMA, columns=columns)

    def to_table(self, columns=None, filter=None, **options):
        self.filters.append(filter)
        table = SCHEMA.empty_table()
        return table if columns is None else table.select(columns)


def sample(client, text, expression, schema=SCHEMA):
    """Describe one expression, or why there is none."""
    if expression is None:
        return {"client": client, "filter": text, "refused": "not pushed down"}
    row = {"client": client, "filter": text, "expression": str(expression)}
    try:
        message = expression.to_substrait(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
        return row | {"refused": str(e).splitlines()[0]}
    return row | {"message": base64.b64encode(bytes(message)).decode()}


DUCKDB = """
i = 5; i <> 5; i < 5; i <= 5; i > 5; 5 <= i; i = -9223372036854775808; i = 99999999999999
i between 3 and 7; i in (1, 2, 3, 10); i not in (1, 2, 3); i in (1, 2, null); i is null; i is not null
i = 1 or i = 7; i > 3 and s = 'x'; not (i = 5); (i = 1 and s = 'x') or (i = 2 and s = 'y'); i = 1 or s = 'x'
i > 3 and (s = 'x' or s is null); i = 5 and i is not null; i + 1 = 5; i is distinct from 5; i is not distinct from null
u8 = 5; u8 in (1, 255); u64 = 18446744073709551615; i32 >= 7; f = 1.5; f < -0.0; f = 'nan'::double; f4 >= 0.25
f < 'inf'::double; b; not b; b = true; b is null; s = 'x'; s > ''; s >= 'a' and s < 'b'; s between 'a' and 'c'
s like 'ab%'; starts_with(s, 'ab'); s in ('a', 'b'); s not in ('a', 'ü'); ls = 'x'; bin = '\\xFF\\x00b'::blob
fb = 'ab'::blob; d = date '2024-01-02'; d in (date '2024-01-02', date '1969-12-31')
d >= date '2024-01-02' and d < date '2025-01-01'; ts > timestamp '2024-01-02 03:04:05.678'
ms = timestamp_ms '2024-01-02 03:04:05.678'; tz = timestamptz '2024-01-02 03:04:05+00'; t = time '01:02:03'
date_trunc('day', ts) = timestamp '2024-01-02'; dec = 1.25; dec = -1.25; dec in (1.25, 2.5); dec > 1; st.a = 5
st.n.v = 'x'; st.a is null; st is null; st.a in (1, 2); ls_st is null; dic = 'x'; dic is null
coalesce(i, 0) = 0; case when i = 1 then true else false end; i::double > 1.5
"""

POLARS = """
c.i == 5; c.i != 5; c.i < 5; c.i >= -5; c.i == 2**62; c.i.is_in([1, 2, 3]); ~c.i.is_in([1, 2]); c.i.is_in([1, None])
c.i.is_in([]); c.i.is_null(); c.i.is_not_null(); ~c.i.is_null(); c.i.is_between(3, 7)
c.i.is_between(3, 7, closed="left")
(c.i == 1) | (c.s == "x"); (c.i == 1) & (c.s == "x"); ~((c.i == 1) | (c.s == "x")); (c.i == 1) | c.i.is_null() | c.b
(c.i == 1) | (c.i == 2) | (c.i == 3) | (c.i == 4); ~(c.i == 5); c.b; ~c.b; c.b == True; c.b == False; c.b.is_null()
c.f == 1.5; c.f > float("nan"); c.f > float("-inf"); c.f.is_nan(); c.f.is_not_nan(); c.f4 > 0.25; c.u8 == 5; c.i32 == 5
c.s == "x"; c.s.is_in(["a", "b"]); c.s >= "a"; c.s.str.starts_with("ab"); c.ls == "x"; c.bin == b"ab"
c.d == dt.date(2024, 1, 2); c.d.is_in([dt.date(2024, 1, 2)]); c.d.is_between(dt.date(2024, 1, 2), dt.date(2025, 1, 1))
c.ts > dt.datetime(2024, 1, 2, 3, 4, 5, 678); c.tz == dt.datetime(2024, 1, 2, tzinfo=dt.timezone.utc)
c.ms <= dt.datetime(1969, 1, 2); c.dec == decimal.Decimal("1.25"); c.t == dt.time(1, 2, 3); c.i.cast(pl.Float64) > 1.5
c.i.cast(pl.String) == "5"; c.st.struct.field("a") == 5; c.dic == "x"; c.i.eq_missing(None); c.i.eq_missing(5)
c.i > 1.5; pl.lit(True); c.i == c.u8
"""

ARROW = """
f.i.cast("float64", safe=False) > 1.5; f.u8.cast("int64", safe=False) == 5; f.i32.cast("int64", safe=False) == 5
f.u8.cast(pa.uint64(), safe=False) == pa.scalar(5, pa.uint64())
f.d.cast(pa.timestamp("us"), safe=False) > dt.datetime(2024, 1, 2)
f.ts.cast(pa.timestamp("ns"), safe=False).is_valid()
f.dec.cast(pa.decimal128(20, 4), safe=False) == pa.scalar(decimal.Decimal("1.25"), pa.decimal128(20, 4))
f.s.cast("large_string", safe=False) == pa.scalar("x", pa.large_string()); f.ls.cast("string", safe=False) == "x"
f.dic.cast("string", safe=False) == "x"; f.b.cast("int8", safe=False) == pa.scalar(1, pa.int8())
f.t.cast(pa.time64("ns"), safe=False) == pa.scalar(9, pa.time64("ns"))
f.bin.cast(pa.large_binary(), safe=False).is_null()
pc.starts_with(f.s, "ab"); pc.starts_with(f.s, "ab", ignore_case=True); pc.match_substring(f.s, "a")
f.i.is_null(nan_is_null=True); f.f.is_nan(); f.f.isin([0.0, float("nan")]); f.i.isin([1, None]); f.i.isin([])
f.i == pa.scalar(None, pa.int64()); f.u8 == pa.scalar(None, pa.uint8()); f.i == pa.scalar(7, pa.int8())
f.i == pa.scalar(7, pa.int16()); f.i == 5.0; pc.if_else(f.i == 1, f.b, ~f.b); pc.xor(f.b, f.b); pc.scalar(True)
pc.case_when(pc.make_struct(f.i == 1, f.i == 3), pa.scalar(True), pa.scalar(False), pa.scalar(None, pa.bool_()))
pc.coalesce(f.b, pa.scalar(False)); pc.add(f.i, 1) == 2; f.i == f.i; pc.field(("st", "n", "v")) == "x"
pc.field(0) == 1
pc.field("ls_st").is_valid(); (f.i == 1) & (f.i == 2) & (f.i == 3) & (f.s == "ü")
f.d64 == pa.scalar(86400000, pa.date64()); f.t32s == pa.scalar(7, pa.time32("s"))
f.t32ms == pa.scalar(7, pa.time32("ms"))
f.lb == pa.scalar(b"x", pa.large_binary()); f.tss == pa.scalar(-1, pa.timestamp("s")); f.i == dt.timedelta(1)
f.bz == pa.scalar(7, pa.timestamp("us", "Europe/Berlin")); f.u16 == pa.scalar(7, pa.uint16())
f.sv == pa.scalar("x", pa.string_view())
f.u32 == pa.scalar(2**32 - 1, pa.uint32()); f.dec38 == pa.scalar(decimal.Decimal(-(10**37)), pa.decimal128(38, 0))
"""

# More types, for messages whose base schema is only what the expression needs.
MORE = {
    "d64": pa.date64(),
    "t32s": pa.time32("s"),
    "t32ms": pa.time32("ms"),
    "lb": pa.large_binary(),
    "tss": pa.timestamp("s"),
    "bz": pa.timestamp("us", "Europe/Berlin"),
    "u16": pa.uint16(),
    "sv": pa.string_view(),
    "u32": pa.uint32(),
    "dec38": pa.decimal128(38, 0),
}


class Fields:
    """f.name is pc.field("name")."""

    def __getattr__(self, name):
        return pc.field(name)


def split(text):
    """Split a list of filters at line ends and semicolons."""
    return [part.strip() for line in text.strip().splitlines() for part in line.split("; ")]


def from_duckdb(where):
    catcher = Catcher()
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    connection.register("t", catcher)
    connection.execute("select i from t where " + where).fetchall()
    return sample("duckdb " + duckdb.__version__, where, catcher.caught())


def from_polars(text):
    catcher = Catcher()
    expression = eval(text, {"c": pl.col, "pl": pl, "dt": dt, "decimal": decimal})
    pl.scan_pyarrow_dataset(catcher).filter(expression).select("i").collect()
    return sample("polars " + pl.__version__, text, catcher.caught())


def from_arrow(text):
    expression = eval(text, {"f": Fields(), "pa": pa, "pc": pc, "dt": dt, "decimal": decimal})
    more = [name for name in MORE if f"f.{name} " in text]
    schema = pa.schema([(name, MORE[name]) for name in more]) if more else SCHEMA
    return sample("pyarrow " + pa.__version__, text, expression, schema)


def main():
    samples = [from_duckdb(w) for w in split(DUCKDB)] + [from_polars(e) for e in split(POLARS)]
    samples += [from_arrow(e) for e in split(ARROW)]
    lines = ",\n".join(json.dumps(s, ensure_ascii=False) for s in samples)
    pathlib.Path(__file__).with_name("samples.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
