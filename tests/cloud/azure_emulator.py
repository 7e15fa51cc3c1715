"""Azurite, Microsoft's emulator of Azure's Blob service, with an account of its own; it checks keys and signatures.

It is an npm package (``npm install azurite``): the program ``azurite-blob`` on PATH, or the one that
``PROCESSION_TEST_AZURITE`` names; tests are skipped where there is none. Of Data Lake Storage's own interface it knows
what files need, no directories.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pyarrow.fs as pafs
import pytest

from coordinator.kernels.azure_store import azure_arguments
from tests.cloud.google_emulator import listening
from tests.ports import free_port

ACCOUNT = "lakeaccount"
HOST = f"{ACCOUNT}.dfs.core.windows.net"
_VERSION = "2020-10-02"


@dataclass
class AzureStore:
    """``key`` opens the account for good."""

    port: int
    key: str
    lent: list[str] = field(default_factory=list)
    """Signatures, as they stand in addresses."""

    @property
    def where(self) -> dict[str, str]:
        """By Iceberg's name for what is no connection string of Azure's."""
        return {f"adls.connection-string.{HOST}": f"http://127.0.0.1:{self.port}/{ACCOUNT}"}

    @property
    def keys(self) -> dict[str, str]:
        """By PyIceberg's names."""
        return {
            "adls.account-name": ACCOUNT,
            "adls.account-key": self.key,
            "adls.blob-storage-authority": f"127.0.0.1:{self.port}",
            "adls.blob-storage-scheme": "http",
        }

    def lend(self, life: float = 3600.0, told: float | None = None, permissions: str = "racwdl") -> dict[str, str]:
        """What a catalog lends: a signature for the container, until when by its word (``told``), and where it is."""
        end = int(time.time() + life)
        ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))
        place = f"/blob/{ACCOUNT}/lake"
        signed = [permissions, "", ends, place, "", "", "", _VERSION, "c", "", "", "", "", "", ""]
        digest = hmac.new(base64.b64decode(self.key), "\n".join(signed).encode(), hashlib.sha256).digest()
        parts = {"sv": _VERSION, "se": ends, "sr": "c", "sp": permissions, "sig": base64.b64encode(digest).decode()}
        token = urlencode(parts)
        self.lent.append(token)
        until = {
            f"adls.sas-token-expires-at-ms.{HOST}": str(int((time.time() + (life if told is None else told)) * 1000))
        }
        return {f"adls.sas-token.{HOST}": token} | until | self.where


@contextmanager
def azure_store(home: Path, container: str = "lake") -> Iterator[AzureStore]:
    """The account with an empty container."""
    program, port = _program(), free_port()
    store = AzureStore(port, base64.b64encode(secrets.token_bytes(64)).decode())
    command = [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence", "--silent"]
    command += ["--disableTelemetry", "--skipApiVersionCheck"]
    environment = os.environ | {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{store.key}"}
    with (home / "azurite.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=home, env=environment)
    try:
        listening(port, lambda: process.poll() is None)
        pafs.AzureFileSystem(**azure_arguments(HOST, store.keys)).create_dir(container)
        yield store
    finally:
        process.kill()
        process.wait()


def _program() -> str:
    found = os.environ.get("PROCESSION_TEST_AZURITE") or shutil.which("azurite-blob")
    if found is None:
        pytest.skip("no emulator of Azure: npm install azurite, and name its azurite-blob in PROCESSION_TEST_AZURITE")
    return found
