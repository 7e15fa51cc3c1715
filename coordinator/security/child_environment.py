"""The least environment for children: the rest of ours may hold secrets that they need not know."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

_PLAIN = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "VIRTUAL_ENV"}
    | {"LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "MALLOC_ARENA_MAX"}
)
_FAMILIES = ("LC_", "PYTHON", "OMP_", "OPENBLAS_", "MKL_", "COVERAGE_", "COV_CORE_", "PROCESSION_")
STORES = ("AWS_", "GOOGLE_", "GCS_", "CLOUDSDK_", "AZURE_", "HADOOP_", "HDFS_", "KRB5", "STORAGE_EMULATOR_")
"""Where clients of object stores look for credentials by themselves."""
JAVA = ("JAVA_", "JDK_", "_JAVA_", "SPARK_", "PYSPARK_", "COURSIER_", "IVY_", "MAVEN_", "JDBC_", "PG")
_REFERENCE = re.compile(r"\$\{ENV:([A-Za-z_][A-Za-z0-9_]*)\}")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")


def child_environment(*families: str, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What every program needs, and variables whose names begin with one of ``families``."""
    known = (*_FAMILIES, *families)
    given = os.environ if environment is None else environment
    proxies = _PROXIES if families else ()
    return {k: v for k, v in given.items() if k in _PLAIN or k.startswith(known) or k.lower() in proxies}


def planner_environment(etc: Path | None) -> dict[str, str]:
    """For a process that opens catalogs: what their clients look at, and what files of ``etc`` refer to."""
    named: set[str] = set()
    for file in () if etc is None else etc.rglob("*.properties"):
        named.update(_REFERENCE.findall(file.read_text(encoding="utf-8", errors="replace")))
    clients = child_environment(*STORES, "PG", "MYSQL_", "REQUESTS_", "CURL_")
    return clients | {name: os.environ[name] for name in named if name in os.environ}
