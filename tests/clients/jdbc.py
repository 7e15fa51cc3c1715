"""Programs in ``java`` that drive a service through presto-jdbc or trino-jdbc."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.e2e.service import Service

SOURCES = Path(__file__).parent / "java"
Driver = tuple[str, Path]
"""A family, which its address names, and the jar."""


def answers(program: str, driver: Driver, folder: Path, service: Service, *arguments: str) -> dict[str, str]:
    """What the program printed, by the name before the bar; ``arguments`` begin with the path of the address."""
    family, library = driver
    source = SOURCES / f"{program}.java"
    subprocess.run(["javac", "-d", str(folder), str(source)], check=True, timeout=200, capture_output=True)
    address = f"jdbc:{family}://{service.url.removeprefix('http://')}/{arguments[0]}"
    command = ["java", "-cp", f"{folder}:{library}", program, address, *arguments[1:]]
    run = subprocess.run(command, check=False, timeout=200, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    lines = (line.partition("|") for line in run.stdout.splitlines())
    return {name: answer for name, bar, answer in lines if bar}
