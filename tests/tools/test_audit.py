"""The dependency audit fails for vulnerabilities alone, and does not call a silence a clean bill."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tools.audit import ACCEPTED, main

BAD = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2.0"], "description": ""}
SKIPPED = {"name": "b", "skip_reason": "Dependency not found on PyPI and could not be audited: b (1)"}


def package(*vulnerabilities: dict[str, Any]) -> dict[str, Any]:
    return {"name": "a", "version": "1.0", "vulns": vulnerabilities}


@pytest.mark.parametrize(
    ("packages", "code", "text"),
    [
        ([package()], 0, "none of 1 packages has a known vulnerability\n"),
        ([package(), SKIPPED], 0, "the registry does not know 1 others"),
        ([SKIPPED], 0, "dependency audit skipped: the package registry has no vulnerability data"),
        ([package(BAD), SKIPPED], 1, "a 1.0: PYSEC-1, mended in 2.0"),
    ],
)
def test_audit(packages: list[Any], code: int, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pip-audit"], lambda _: json.dumps({"dependencies": packages})) == code
    assert text in capsys.readouterr().out


def test_what_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ACCEPTED, "CVE-1", "does not concern us")
    assert main(["pip-audit"], lambda _: json.dumps({"dependencies": [package(BAD)]})) == 0


def test_without_pip_audit_or_its_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/nowhere/pip-audit"]) == 0
    assert main(["pip-audit"], lambda _: "") == 0
    assert capsys.readouterr().out.count("dependency audit skipped") == 2
