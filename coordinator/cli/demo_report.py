"""What ``procession demo`` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from coordinator.cli.table_state import TableState
from shared.units import format_data_size


def heading(console: Console, text: str) -> None:
    console.print(Text(f"\n== {text}", style="bold"), soft_wrap=True)


def started(console: Console, url: str, table: str, scale: float, state: TableState, seconds: float) -> None:
    console.print(f"coordinator: {url}", highlight=False)
    console.print(
        f"{table}: TPC-H lineitem at scale {scale:g}, {state.rows:,} rows in {state.files} files, "
        f"{format_data_size(state.bytes)}, made in {seconds:.1f} s",
        highlight=False,
        soft_wrap=True,
    )


def statement(console: Console, title: str, sql: str, text: str) -> None:
    heading(console, title)
    console.print(f"> {sql}", style="cyan", markup=False, highlight=False, soft_wrap=True)
    if text:
        console.print(text.rstrip(), markup=False, highlight=False, soft_wrap=True)


def compared(console: Console, before: TableState, after: TableState) -> None:
    heading(console, "The table before and after (DuckDB over the files of the snapshot)")
    table = Table("", "before", "after", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("files", f"{before.files:,}", f"{after.files:,}")
    table.add_row("bytes", f"{before.bytes:,}", f"{after.bytes:,}")
    table.add_row("rows", f"{before.rows:,}", f"{after.rows:,}")
    table.add_row("checksum", str(before.checksum), str(after.checksum))
    console.print(table)


def result_row(console: Console, names: Sequence[str], row: Sequence[object]) -> None:
    heading(console, "The procedure's result row")
    table = Table(box=None, show_header=False)
    for name, value in zip(names, row, strict=True):
        table.add_row(name, str(value))
    console.print(table)


def timeline(console: Console, seconds: Mapping[str, float]) -> None:
    """Seconds of each of the ten verbs, from ``/v1/query/{id}``."""
    heading(console, "Seconds of each verb")
    table = Table(box=None, show_header=False)
    for verb, spent in seconds.items():
        table.add_row(verb, f"{spent:.4f}")
    console.print(table)


def verdict(console: Console, text: str, *, good: bool) -> int:
    """The exit code."""
    console.print(Text(f"\n{text}", style="bold green" if good else "bold red"))
    return 0 if good else 1
