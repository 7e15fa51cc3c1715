"""Provider files: order, names, errors at file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.checks.native import NativePlanChecker
from coordinator.checks.providers import load_plan_checkers
from shared.properties import ConfigurationError

NATIVE = "plan-checker-provider.name=native\nnative-plan-checker.sidecar-uri=http://127.0.0.1:7777\n"


def write(directory: Path, name: str, text: str) -> Path:
    file = directory / f"{name}.properties"
    file.write_text(text)
    return file


def test_files_load_in_order_of_name(tmp_path: Path) -> None:
    write(tmp_path, "b", "plan-checker-provider.name=business-rules\n")
    write(tmp_path, "a", NATIVE)
    write(tmp_path, "c", "plan-checker-provider.name=business-rules\nbusiness-rules.stages=warn\n")
    assert [c.name for c in load_plan_checkers(tmp_path)] == ["native", "business-rules", "business-rules"]


def test_no_directory_no_checkers(tmp_path: Path) -> None:
    assert load_plan_checkers(tmp_path / "missing") == ()


def test_defaults_stand_in_for_what_a_file_leaves_out(tmp_path: Path) -> None:
    write(tmp_path, "native", "plan-checker-provider.name=native\n")
    defaults = {"native": {"native-plan-checker.sidecar-uri": "http://127.0.0.1:9"}}
    (checker,) = load_plan_checkers(tmp_path, defaults)
    assert isinstance(checker, NativePlanChecker)
    with pytest.raises(ConfigurationError, match=r"'native-plan-checker\.sidecar-uri' is missing"):
        load_plan_checkers(tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("business-rules.stages=warn\n", 1, "plan-checker-provider.name is missing"),
        (
            "# x\nplan-checker-provider.name=nativ\n",
            2,
            "no plan checker provider is named 'nativ' (known: business-rules, native)",
        ),
        (
            "plan-checker-provider.name=business-rules\nbusiness-rules.crossjoin=veto\n",
            2,
            "unknown property 'business-rules.crossjoin'",
        ),
        (
            "plan-checker-provider.name=business-rules\n\nbusiness-rules.cross-join=forbid\n",
            3,
            "invalid value 'forbid' for 'business-rules.cross-join': Input should be 'off', 'warn' or 'veto'",
        ),
        (NATIVE + "native-plan-checker.request-timeout=5 parsecs\n", 3, "invalid value '5 parsecs'"),
        (NATIVE.replace("http:", "ftp:"), 2, "invalid value 'ftp://127.0.0.1:7777'"),
        (NATIVE + "native-plan-checker.mode\n", 3, "expected name=value"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    file = write(tmp_path, "x", text)
    with pytest.raises(ConfigurationError) as caught:
        load_plan_checkers(tmp_path)
    assert str(caught.value).startswith(f"{file}:{line}: {problem}")
