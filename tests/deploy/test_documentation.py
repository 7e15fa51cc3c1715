"""Commands and links of the pages that a newcomer follows."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from coordinator.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/operations.md", "docs/howto.md")


@pytest.mark.parametrize("page", PAGES)
def test_named_make_targets_and_commands_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z-]+)", text)) - {"sure"} <= targets
    commands = set(get_command(app).commands)  # type: ignore[attr-defined]
    assert set(re.findall(r"procession (up|[a-z]+)(?= (?:--|#|$)|`)", text)) <= commands


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md", "docs/architecture.md"])
def test_relative_links_lead_somewhere(page: str) -> None:
    file = ROOT / page
    for link in re.findall(r"\]\(([^)#]+)", file.read_text()):
        if "://" not in link:
            assert (file.parent / link).exists(), link


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "make test" in (ROOT / "README.md").read_text()
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == "make test"
