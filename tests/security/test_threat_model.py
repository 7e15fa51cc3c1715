"""docs/security.md: each row of the threat model names a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_threat_names_its_test() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    page = page[page.index("## Threats") : page.index("## What is left")]
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| threat |")]
    assert len(rows) >= 15
    for row in rows:
        named = re.findall(r"tests/[\w/]+\.py", row.split("|")[-2])
        assert named, row
        for path in named:
            assert "def test_" in (ROOT / path).read_text(), path
