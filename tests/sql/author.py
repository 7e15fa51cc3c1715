"""Writes ``slt/<name>.slt`` from ``statements/<name>.sql``, with the rows that DuckDB gives.

``python -m tests.sql.author [NAME …]``. A source holds Presto statements separated by ``;`` at the end of a line, each
one whose meaning DuckDB shares; what the two dialects write otherwise sqlglot translates. What Presto means otherwise
stands in the ``.slt`` files without a source, by hand from Presto's documentation, source or recorded answers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import sqlglot

from tests.sql.sqllogictest import Record, rows_of, with_prelude, write

HERE = Path(__file__).parent
_COMMENT = "Rows by DuckDB, written by tests/sql/author.py from statements/{name}: edit that."


def author(source: Path) -> None:
    """One file."""
    prelude, records, refused = "", [], []
    for part in source.read_text().split(";\n"):
        statement = "\n".join(line for line in part.strip().split("\n") if not line.startswith("--"))
        if statement.startswith("PRELUDE"):
            prelude = statement.removeprefix("PRELUDE").strip()
        elif statement:
            try:
                records.append(_record(statement, prelude))
            except (duckdb.Error, ValueError) as error:
                refused.append(f"{statement}\n  {str(error).splitlines()[0]}")
    if refused:
        raise SystemExit("no answer by DuckDB for:\n" + "\n".join(refused))
    write(HERE / "slt" / f"{source.stem}.slt", _COMMENT.format(name=source.name), prelude, records)


def _record(statement: str, prelude: str) -> Record:
    text = with_prelude(statement, prelude)
    tree = sqlglot.parse_one(text, read="presto")
    order = tree.args.get("order") is not None
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET default_null_order = 'nulls_last'")
        rows = connection.execute(tree.sql(dialect="duckdb")).fetchall()
    return Record(statement, rows_of([tuple(r) for r in rows], sort=not order), not order)


def main() -> None:
    """All sources, or those named."""
    wanted = set(sys.argv[1:])
    for source in sorted((HERE / "statements").glob("*.sql")):
        if not wanted or source.stem in wanted:
            author(source)


if __name__ == "__main__":
    main()
