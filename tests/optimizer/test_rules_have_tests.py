"""Each rule has a file of its own that draws what it does, and cases in which it must do nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.optimizer.optimize import RULES

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sorted({rule.name for rule in RULES}))
def test_a_rule_is_drawn(name: str) -> None:
    file = HERE / f"test_{name}.py"
    assert file.exists(), (
        f"tests/optimizer/{file.name} is missing: plans before and after rule {name}, as in its neighbours"
    )
    text = file.read_text(encoding="utf-8")
    assert f'RULE = "{name}"' in text
    assert "rule.rests(" in text or "is plan" in text, f"{file.name} has no case in which the rule does nothing"
