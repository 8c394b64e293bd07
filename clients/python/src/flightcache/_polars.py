"""A dataset as a lazy frame of polars.

polars applies its own predicate to the rows that come, and always: so what goes to the server need only keep every row
that polars would keep. Where polars and pyarrow differ, the filter keeps more: polars has NaN equal to itself and above
all numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, cast

import polars as pl
from polars.io.plugins import register_io_source

from ._plan import Source
from ._polars_predicate import necessary
from .scanner import BATCH_ROWS, Scanner

_FEWEST = 16_384
"""A scan asks for no smaller batches than polars' own smallest."""


def _frames(source: Source) -> Callable[..., Iterator[pl.DataFrame]]:
    def frames(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        # polars counts the rows before it applies a predicate that comes with n_rows.
        condition = necessary(predicate, source.schema) if predicate is not None and n_rows is None else None
        rows = BATCH_ROWS if batch_size is None else max(_FEWEST, min(batch_size, BATCH_ROWS))
        scanner = Scanner(source, with_columns, condition, rows, n_rows)
        for batch in scanner.to_batches():
            frame = pl.DataFrame(batch)
            yield frame if predicate is None else frame.filter(predicate)

    return frames


class Scan(pl.LazyFrame):
    """The lazy frame of a whole dataset, as :meth:`flightcache.Client.scan` makes it.

    polars asks for the first column when it only counts rows, and the source of a frame cannot tell that from a read of
    it. So ``select(pl.len())`` is answered here, from the server's metadata. All other frames that are made from this
    one are polars' own.
    """

    _count: Callable[[], int] | None = None

    def select(self, *exprs: Any, **named_exprs: Any) -> pl.LazyFrame:
        """As ``polars.LazyFrame.select``; the number of rows alone is told without reading any."""
        name = _name_of_len(exprs, named_exprs)
        if self._count is None or name is None:
            return super().select(*exprs, **named_exprs)
        count = self._count
        schema = pl.Schema({name: pl.get_index_type()})

        def counted(columns: Any, predicate: pl.Expr | None, n_rows: int | None, rows: Any) -> Iterator[pl.DataFrame]:
            frame = pl.DataFrame({name: [count()]}, schema=schema)
            if n_rows is not None:
                frame = frame.head(n_rows)
            yield frame if predicate is None else frame.filter(predicate)

        return register_io_source(counted, schema=schema, is_pure=False)


def _name_of_len(exprs: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """The name under which the number of rows, and nothing else, is selected."""
    everything = [(None, e) for e in exprs] + list(named.items())
    if len(everything) != 1 or not isinstance(everything[0][1], pl.Expr):
        return None
    ((name, expression),) = everything
    if not expression.meta.undo_aliases().meta.eq(pl.len()):
        return None
    return name or expression.meta.output_name()


def scan(source: Source) -> pl.LazyFrame:
    """The frame of a dataset. Each collection reads it anew."""
    schema = pl.Schema(pl.DataFrame(source.schema.empty_table()).schema)
    frame = register_io_source(_frames(source), schema=schema, explain_name=f"flightcache {source.dataset}")
    mine = cast(Scan, Scan._from_pyldf(frame._ldf))
    mine._count = functools.partial(_rows, source)
    return mine


def _rows(source: Source) -> int:
    return Scanner(source, []).count_rows()
