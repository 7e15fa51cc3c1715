"""Materialized views in this process: planned and checked as the coordinator does, their rows computed by the embedded
engine and committed by PyIceberg in place of Spark."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from coordinator.connectors.iceberg.snapshots.own import QUERY_ID
from coordinator.security.current_session import acting_for
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows, WriteRows
from shared.spi.procedure import ProcedureContext
from shared.spi.table_writes import WriteContext
from tests.execution import FakeExecution
from tests.security.access.conftest import Ruled

APPENDED = "SELECT * FROM appended"


class Kept(Ruled):
    """``lab`` with statements that change it."""

    counted = 0
    between: Any = None
    """Called after rows were committed and before the view knows."""

    def do(self, user: str, sql: str, **options: Any) -> list[tuple[Any, ...]]:
        """A statement that defines something, or the rows of one that does not."""
        return self.rows(user, sql, **options)

    def refresh(self, user: str, view: str, rows: str | None = None, **options: Any) -> int | str:
        """Rows written, or the error; ``rows`` is the query whose rows Spark would write, as ``user``."""
        type(self).counted += 1
        session = self.session(user, query_id=f"q{self.counted}", **options)
        with acting_for(session):
            planned = self.planned(session, f"REFRESH MATERIALIZED VIEW {view}")
            if isinstance(planned.work, ReturnRows):
                return int(planned.work.rows[0][0])
            return self.carry_out(planned, session, rows)

    def planned(self, session: Any, sql: str) -> PlannedStatement:
        from coordinator.checks.plan_checkers import PlanCheckers
        from coordinator.planning.plan_statement import plan_statement

        return plan_statement(sql, session, self.catalogs, PlanCheckers())

    def carry_out(self, planned: PlannedStatement, session: Any, rows: str | None) -> int:
        assert isinstance(planned.work, WriteRows)
        write = planned.work.write
        assert write.refresh is not None
        view = write.refresh.view
        found = self.arrow(view.owner or "", rows or view.definition)

        def run(sql: str, _write_id: str | None = None, _settings: Any = None) -> Sequence[Mapping[str, Any]]:
            table = self.lake.other.load_table(f"{write.schema}.{write.table}")
            properties = {QUERY_ID: session.query_id}
            wanted = table.schema().as_arrow()
            shaped = found.rename_columns(wanted.names).cast(wanted)
            # What a MERGE comes to is Spark's to show (test_on_spark).
            if sql.startswith(("INSERT OVERWRITE", "MERGE")):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # it has no merge-on-read, which is not what is asked for
                    table.overwrite(shaped, snapshot_properties=properties)
            else:
                assert sql.startswith("INSERT INTO"), sql
                table.append(shaped, snapshot_properties=properties)
            if self.between is not None:
                self.between()
            return []

        connector = self.catalogs.connector("lab")
        context = ProcedureContext(session, "lab", self.lake.workers, session.start)
        return int(connector.write(write, WriteContext(context, run)))  # type: ignore[attr-defined]

    def arrow(self, user: str, sql: str) -> pa.Table:
        planned = self.plan(user, sql, properties={"engine": "embedded"})
        with acting_for(self.session(user)):
            batches = list(self.executor.execute(planned, FakeExecution(session=self.session(user))))
        return pa.Table.from_batches(batches)

    def note(self, user: str, view: str, **options: Any) -> str:
        """What EXPLAIN says of a view."""
        planned = self.plan(user, f"EXPLAIN SELECT * FROM {view}", **options)
        assert isinstance(planned.work, ReturnRows)
        text = str(planned.work.rows[0][0])
        return next(line.partition(": ")[2] for line in text.splitlines() if line.startswith("Materialized view"))
