"""Servers and programs that tests need from Debian's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

import pytest


def need(what: str, there: Callable[[], bool], *packages: str) -> None:
    """Install ``packages`` where ``there`` says that they are missing and we may; skips the test where we may not."""
    if not there() and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        install = ["install", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=200", *packages]
        for step in (["update"], install):
            subprocess.run(
                ["apt-get", *step],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=240,
                check=False,
            )
    if not there():
        pytest.skip(f"neither {what} nor root to install Debian's {' and '.join(packages)}")
