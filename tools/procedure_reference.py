"""docs/procedures.md, written from the declarations.

``python -m tools.procedure_reference ETC`` writes the page for the catalogs in ``ETC/catalog``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from coordinator.connectors.registry import Catalogs, read_catalogs
from coordinator.connectors.system.procedures.help import default_text, qualified_name
from coordinator.connectors.system.registered import all_procedures
from shared.spi.procedure import Procedure, ProcedureDeclaration, ProcedureKind

PAGE = Path(__file__).parents[1] / "docs" / "procedures.md"
_KINDS = {
    ProcedureKind.COORDINATOR: "Runs in the coordinator.",
    ProcedureKind.TABLE_DATA_REWRITE: "Runs on the executors and commits once, in the coordinator.",
    ProcedureKind.MAINTENANCE: "Runs once on every executor.",
}

_DISTRIBUTED = """
The executors do the work: the call is planned and checked as a rewrite of the table, and selectors of resource groups
know it as `CALL_DISTRIBUTED_PROCEDURE`.
"""

_HEAD = """# Procedures

This page is generated from the declarations by `make bless`. Any client shows the same text: `CALL system.help()` lists
the procedures, `CALL system.help(procedure => 'rewrite_data_files')` describes one. The page shows them for a catalog
that is called `iceberg`; [maintenance.md](maintenance.md) explains when to use which.

Arguments are given by name (`name => value`) or by position, but not both in one call. Names are compared without case.
Values are constant expressions. Wherever a table is named, `table => 'schema.table'` can stand for `schema` and
`table_name`. An argument of type timestamp also takes a timestamp with time zone, which is the same instant in any
session (`current_timestamp - INTERVAL '5' DAY`), and a date, which is its midnight in the session's time zone.

The spellings of other engines are understood as well:

- Iceberg: `where` and `sort_order => 'a DESC, b'` (here `filter` and `sorted_by`), and its positional order, which
  begins with one `'schema.table'`
- Spark: `array('a')` and `map('k', 'v')`
- Hudi: `CALL name(…)` without a schema, and `options => 'k=v,l=w'`
- Trino: `ALTER TABLE t EXECUTE name(…) [WHERE …]` with `optimize`, `optimize_manifests`, `add_files`,
  `add_files_from_table`, `file_size_threshold` and `retention_threshold`
- Presto: where its positions differ from those here, types decide. A text behind the table that is no strategy is the
  filter of `rewrite_data_files`, a number there is the partition spec of `rewrite_manifests`
"""


def reference(procedures: Iterable[tuple[str, Procedure]]) -> str:
    """The page for ``(catalog, procedure)`` pairs, by name; a catalog's procedures are shown once a connector."""
    sections = {qualified_name(catalog, p.declaration): p.declaration for catalog, p in procedures}
    names = sorted(sections)
    listed = [(f"[{name}](#{name.replace('.', '')})", sections[name].summary) for name in names]
    contents = "\n" + _table(("procedure", "what it does"), listed)
    return _HEAD + contents + "".join(_section(name, sections[name]) for name in names)


def _section(name: str, declaration: ProcedureDeclaration) -> str:
    parts = [f"\n## {name}\n\n{declaration.summary} {_KINDS[declaration.kind]}\n"]
    if declaration.distributed:
        parts.append(_DISTRIBUTED)
    if declaration.arguments:
        rows = [
            (a.name, a.type, "required" if a.required else f"`{default_text(a.default)}`", a.doc)
            for a in declaration.arguments
        ]
        parts.append("\n" + _table(("argument", "type", "default", "meaning"), rows))
    parts.append(
        "\n" + _table(("result column", "type", "meaning"), [(c.name, c.type, c.doc) for c in declaration.output])
    )
    if declaration.dry_run_output:
        shown = [(c.name, c.type, c.doc) for c in declaration.dry_run_output]
        parts.append("\nWith `dry_run => true`:\n\n" + _table(("result column", "type", "meaning"), shown))
    if declaration.example:
        parts.append(f"\n```sql\n{declaration.example}\n```\n")
    if declaration.notes:
        parts.append(f"\n{declaration.notes.strip()}\n")
    return "".join(parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def main(etc: Path) -> None:
    """Writes the page for the catalogs of a configuration directory."""
    PAGE.write_text(reference(all_procedures(Catalogs(read_catalogs(etc / "catalog")))), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
