"""Cases of rules over fixed catalogs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.optimizer.rule_cases import RuleCases


@pytest.fixture(scope="session")
def rule(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RuleCases]:
    """``rule.fires("evaluate_zero_limit", sql, before, after)``."""
    yield from RuleCases.over(tmp_path_factory.mktemp("tpch"))
