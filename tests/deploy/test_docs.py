"""Paths, make targets and commands that the documentation names exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from coordinator.checks.native_settings import NativeSettings
from coordinator.cli.main import app
from tools.configuration_reference import configuration_reference

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").rglob("*.md")]
)
TOP = ("benchmarks", "coordinator", "deploy", "docker", "docs", "shared", "sidecar", "tests", "tools")
CODE = re.compile(r"`([^`\n]+)`")
SETTING = re.compile(
    r"`((?:http-server|query|precheck|embedded-engine|native-plan-checker|eager-plan-validation)[.-][\w.-]*\w)"
    r"(?![\w.*<-])"
)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        found = page.parent / target if target else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_paths_exist(page: Path) -> None:
    paths = {name for name in CODE.findall(page.read_text()) if re.fullmatch(rf"({'|'.join(TOP)})/[\w./-]+", name)}
    assert [name for name in sorted(paths) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_settings_exist(page: Path) -> None:
    known = set(re.findall(r"^\| `([\w.-]+)` \|", configuration_reference(), re.M))
    known |= {field.alias for field in NativeSettings.model_fields.values() if field.alias}
    assert set(SETTING.findall(page.read_text())) - known == set()


def test_howto_names_real_things() -> None:
    text = (ROOT / "docs" / "howto.md").read_text()
    groups = set(re.findall(r"`(procession\.\w+)`", text))
    sources = "".join(file.read_text() for file in (ROOT / "coordinator").rglob("*.py"))
    assert groups
    for group in groups:
        assert f'"{group}"' in sources, group
    for name in ("ProcedureDeclaration", "PlanCheckerProvider", "KernelError"):
        assert re.search(rf"^class {name}\b", sources + shared_sources(), re.MULTILINE), name


def shared_sources() -> str:
    return "".join(file.read_text() for file in (ROOT / "shared").rglob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"(?:`|^)make\s([a-z-]+)", page.read_text(), re.MULTILINE)):
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_procession_exist(page: Path) -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    named = set(re.findall(r"(?:`|bin/|^)procession\s([a-z]+)\b", page.read_text(), re.MULTILINE))
    assert named <= set(commands), named - set(commands)


def test_make_alone_lists_every_target() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("setup", "demo", "up", "test", "check", "bless", "bench", "clean"):
        assert re.search(rf"^  make {target} ", listed, re.MULTILINE), target


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)
