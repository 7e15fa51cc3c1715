"""Plans as the planner makes them, drawn, with their rows beside DuckDB's."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from tests.drawing import drawn
from tests.optimizer.rule_cases import TIDY, RuleCases


@dataclass(frozen=True)
class DrawnPlans:
    """Runs statements over fixed catalogs."""

    cases: RuleCases

    def check(self, sql: str, plan: str) -> None:
        """The planner makes ``plan``, here without columns that nobody reads, and its rows are DuckDB's."""
        _, found = self.cases.planned(TIDY[1], sql, first=TIDY)
        assert drawn(found) == textwrap.dedent(plan).strip("\n")
        assert self.cases.rows(found) == self.cases.answer(sql)
