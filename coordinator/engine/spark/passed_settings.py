"""Spark's own settings that an operator passes through (``spark.conf.*``), and those that a session may change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from coordinator.engine.spark.our_classes import ICEBERG_EXTENSIONS, OUR_EXTENSIONS
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property

PREFIX = "spark.conf."
"""What stands before a setting's name in etc/config.properties."""
SESSION_CONF = {
    # Presto's decimals keep their scale; a map keeps one value of a repeated key; text is never silently NULL.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # It names what lambdas within each other read a level at a time, twice.
    "spark.sql.analyzer.maxIterations": "1000",
    # Text with ${…} in it stays as it is.
    "spark.sql.variable.substitute": "false",
    # Spark's UI and event log show every request, options of readers among them.
    "spark.sql.redaction.string.regex": r'(?s)key: "password"\s+value: "(?:[^"\\]|\\.)*"',
}
"""Values mean what Presto means only with these."""
_OURS = {
    "spark.master": "set spark.master",
    "spark.jars": "set spark.jars",
    "spark.jars.packages": "set spark.packages",
    "spark.remote": "set spark.remote",
    "spark.driver.memory": "set spark.driver-memory",
    "spark.python.daemon.module": "Procession has its own",
    "spark.connect.grpc.binding.address": "the server is this machine's alone",
    "spark.connect.grpc.binding.port": "a free port is chosen",
    "spark.connect.authenticate.token": "a token is made for each start",
    "spark.sql.iceberg.snapshot-property.procession.query-id": "it finds a statement's own commit",
}
SESSION_SAFE = (
    "spark.sql.adaptive.*",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.broadcastTimeout",
    "spark.sql.codegen.*",
    # Not all of spark.sql.files: two of them leave out files that are broken or gone.
    "spark.sql.files.maxPartitionBytes",
    "spark.sql.files.maxPartitionNum",
    "spark.sql.files.minPartitionNum",
    "spark.sql.files.openCostInBytes",
    "spark.sql.iceberg.advisory-partition-size",
    "spark.sql.iceberg.distribution-mode",
    "spark.sql.iceberg.vectorization.enabled",
    "spark.sql.inMemoryColumnarStorage.*",
    "spark.sql.join.*",
    "spark.sql.shuffle.partitions",
    "spark.sql.sources.parallelPartitionDiscovery.*",
    "spark.comet.*",
    "spark.gluten.*",
)
"""What changes how a statement runs and neither what it means nor what it may reach."""
_REACHES = re.compile(r"class|path|lib|jar|dir|file|url|uri|host|address|command|plugin|secret|token", re.IGNORECASE)
"""Of names that a pattern lets in: what names code, or a place (spark.sql.adaptive.customCostEvaluatorClass)."""
_EXTENSIONS = "spark.sql.extensions"
_NAME = re.compile(r"spark\.[A-Za-z][\w.\-]*")


def passed_settings(properties: Mapping[str, Property]) -> dict[str, str]:
    """Spark's settings among the entries of etc/config.properties, by Spark's names; raises ConfigurationError."""
    passed = {}
    for entry in filter(is_passed, properties.values()):
        name = entry.name.removeprefix(PREFIX)
        problem = _problem(name)
        if problem is not None:
            raise entry.error(problem)
        passed[name] = entry.value
    return passed


def is_passed(entry: Property) -> bool:
    """Whether an entry is for Spark alone."""
    return entry.name.startswith(PREFIX)


def with_our_extensions(passed: Mapping[str, str], *, iceberg: bool) -> dict[str, str]:
    """``passed`` with the extensions of Spark's SQL: Iceberg's, ours, and those that are passed.

    An accelerator's rules know no method that ours lets Spark call: where there is one, ours stays away.
    """
    given = [passed[_EXTENSIONS]] if passed.get(_EXTENSIONS) else []
    ours = [] if given or passed.get("spark.plugins") else [OUR_EXTENSIONS]
    found = [*([ICEBERG_EXTENSIONS] if iceberg else []), *ours, *given]
    return {**passed, **({_EXTENSIONS: ",".join(found)} if found else {})}


def _problem(name: str) -> str | None:
    """What is wrong with passing it: it is none of Spark's names, or its value is Procession's to choose."""
    if _NAME.fullmatch(name) is None:
        return f"'{name}' is no setting of Spark: write {PREFIX} before its whole name, {PREFIX}spark.…"
    if name in _OURS:
        return f"{name} cannot be passed through: {_OURS[name]}"
    if name in SESSION_CONF:
        return f"{name} cannot be passed through: statements mean what they mean in Presto with its present value alone"
    return None


def of_session(text: str, allowed: tuple[str, ...]) -> Mapping[str, str]:
    """Settings ``name=value``, separated by commas, of the session property; raises INVALID_SESSION_PROPERTY."""
    settings = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise _invalid(f"expected name=value, found: {part}")
        matched = any(fnmatchcase(name, pattern) for pattern in allowed)
        if not matched or (name not in allowed and _REACHES.search(name)):
            raise _invalid(f"{name} is not among those that spark.session-settings allows")
        if name in SESSION_CONF or name in _OURS:
            raise _invalid(f"{name} is the same for all statements")
        settings[name] = value
    return settings


def _invalid(problem: str) -> ProcessionError:
    return ProcessionError(ErrorCode.INVALID_SESSION_PROPERTY, f"Invalid value of spark_settings: {problem}")
