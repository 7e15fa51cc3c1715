"""Cases of rules over fixed catalogs."""

from __future__ import annotations

import pytest

from tests.optimizer.rule_cases import RuleCases


@pytest.fixture(scope="session")
def rule(rule_cases: RuleCases) -> RuleCases:
    """``rule.fires("evaluate_zero_limit", sql, before, after)``."""
    return rule_cases
