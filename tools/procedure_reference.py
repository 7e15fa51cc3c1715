"""docs/procedures.md, written from the declarations.

``python -m tools.procedure_reference ETC`` prints the page of the catalogs in ``ETC/catalog``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from coordinator.connectors.registry import Catalogs, read_catalogs
from coordinator.connectors.system.procedures.help import default_text, qualified_name
from coordinator.connectors.system.registered import all_procedures
from shared.spi.procedure import Procedure, ProcedureDeclaration, ProcedureKind

_KINDS = {
    ProcedureKind.COORDINATOR: "Runs in the coordinator.",
    ProcedureKind.TABLE_DATA_REWRITE: "Runs on the executors and commits once, in the coordinator.",
    ProcedureKind.MAINTENANCE: "Runs once on every executor.",
}

_DISTRIBUTED = """
Executors do the work: planned and checked as a rewrite of the table, `CALL_DISTRIBUTED_PROCEDURE` for resource groups.
"""

_HEAD = """# Procedures

Generated from the declarations by `python -m tools.procedure_reference etc`. The same text
is at hand in any client: `CALL system.help()`, `CALL system.help(procedure => 'rewrite_data_files')`.

Arguments go by name (`name => value`) or by position, not both; names are compared without case. Values are constant
expressions. Where a table is named, `table => 'schema.table'` stands for `schema` and `table_name`. An argument of type
timestamp also takes a timestamp with time zone, which is that moment whatever the session's zone
(`current_timestamp - INTERVAL '5' DAY`), and a date, which is its midnight in the session's zone.

Other engines' spellings mean the same: Iceberg's `where` and `sort_order => 'a DESC, b'` (here `filter` and
`sorted_by`), its positions, which begin with one `'schema.table'`, Spark's `array('a')` and `map('k', 'v')`, Hudi's
`CALL name(…)` without a schema and `options => 'k=v,l=w'`, and Trino's `ALTER TABLE t EXECUTE name(…) [WHERE …]` with
`optimize`, `file_size_threshold` and `retention_threshold`.
"""


def reference(procedures: Iterable[tuple[str, Procedure]]) -> str:
    """The page for ``(catalog, procedure)`` pairs, by name; a catalog's procedures are shown once a connector."""
    sections = {qualified_name(catalog, p.declaration): p.declaration for catalog, p in procedures}
    return _HEAD + "".join(_section(name, sections[name]) for name in sorted(sections))


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
    """Prints the page for the catalogs of a configuration directory."""
    sys.stdout.write(reference(all_procedures(Catalogs(read_catalogs(etc / "catalog")))))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
