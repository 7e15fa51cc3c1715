"""Every message that docs/troubleshooting.md and docs/handbook.md explain is one of the code's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["troubleshooting", "handbook"])
def test_messages_are_the_codes(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text()
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    messages = [message for cell in cells for message in re.findall(r"`([^`]+)`", cell)]
    parts = [part.strip(" '") for message in messages for part in message.split("…")]
    sources = " ".join(file.read_text() for file in sorted((ROOT / "coordinator").rglob("*.py")))
    text = re.sub(r"\"\s*\n\s*f?\"", "", sources)
    assert len(messages) > 20
    assert [part for part in parts if part and part not in text] == []
