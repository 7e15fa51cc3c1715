"""A provider package that is installed like any other is found by name in etc, without a line of ours for it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parent / "acme_checks"

_PROGRAM = """
import sys
from pathlib import Path
from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.checks.providers import load_plan_checkers
from shared.errors import ProcessionError
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Constant, Variable
from shared.plan.nodes import OutputNode, ValuesNode
from shared.properties import ConfigurationError
from shared.spi.session import Session

try:
    checkers = PlanCheckers(load_plan_checkers(Path(sys.argv[1])))
except ConfigurationError as error:
    sys.exit(f"CONFIG {error}")
x = Variable(name="x", type="bigint")
one = Constant(valueBlock=encode_constant(1, "bigint"), type="bigint")
values = ValuesNode(id="0", outputVariables=(x,), rows=((one,),) * 3)
plan = OutputNode(id="1", source=values, columnNames=("x",), outputVariables=(x,))
checkers.validate_intermediate(plan, Session(user="ann"), print)
try:
    checkers.validate_final(plan, Session(user="ann"), print)
except ProcessionError as error:
    sys.exit(f"VETO {error.code.name} {error.message}")
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as an installer leaves it: its modules, and a dist-info with metadata and entry points."""
    site = tmp_path_factory.mktemp("site-packages")
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    (site / "acme_checks").mkdir()
    (site / "acme_checks" / "__init__.py").write_text((PACKAGE / "acme_checks" / "__init__.py").read_text())
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return site


def run(etc: Path, site: Path | None) -> subprocess.CompletedProcess[str]:
    path = [p or "." for p in sys.path] + ([str(site)] if site is not None else [])
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(etc)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "acme.properties").write_text("# ours\nplan-checker-provider.name=acme\nacme.max-rows=2\n")
    return tmp_path


def test_it_warns_and_vetoes(etc: Path, site: Path) -> None:
    done = run(etc, site)
    assert "ACME_SAW" in done.stdout
    assert "plan of ann" in done.stdout
    assert done.stderr.strip() == "VETO QUERY_REJECTED Acme allows 2 inline rows"


def test_without_the_package_the_start_stops(etc: Path) -> None:
    done = run(etc, None)
    assert done.stderr.strip() == (
        f"CONFIG {etc}/acme.properties:2: no plan checker provider is named 'acme' (known: business-rules, native)"
    )


def test_its_configuration_errors_name_file_and_line(etc: Path, site: Path) -> None:
    (etc / "acme.properties").write_text("plan-checker-provider.name=acme\n\nacme.max-rows=many\n")
    assert run(etc, site).stderr.strip() == (
        f"CONFIG {etc}/acme.properties:3: invalid value 'many' for 'acme.max-rows'"
    )
