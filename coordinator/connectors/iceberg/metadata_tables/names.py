"""Names of metadata tables and versions: ``t$files``, ``t$files@123``, ``t@123$files``, ``t@123``, ``t@1$changelog@2``.

Source: Presto 0.296, ``IcebergTableName``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.errors import ErrorCode, ProcessionError

CHANGELOG = "changelog"
_REFERENCE = re.compile(r"(?P<table>[^$@]+)\.(?P<kind>branch|tag)_(?P<name>[^$@.]+)")
_NAME = re.compile(r"(?P<table>[^$@]+)(?:@(?P<before>\d+))?(?:\$(?P<kind>[^@]+)(?:@(?P<after>\d+))?)?")


@dataclass(frozen=True, slots=True)
class SpecialName:
    """A table's name with what was asked of it: a kind of metadata table (None for the data) and a snapshot.

    ``after``: the snapshot from which on ``$changelog`` tells changes.
    """

    table: str
    kind: str | None
    snapshot_id: int | None
    after: int | None = None


def special_name(name: str) -> SpecialName | None:
    """What a name with ``$`` or ``@`` says; None for an ordinary one.

    Raises ProcessionError NOT_SUPPORTED with Presto's texts for two versions.
    """
    if "$" not in name and "@" not in name:
        return None
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    if match["kind"] == CHANGELOG:
        return SpecialName(match["table"], CHANGELOG, _number(match["after"]), _number(match["before"]))
    if match["before"] and match["after"]:
        message = f"Invalid Iceberg table name (cannot specify two @ versions): {name}"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    version = match["before"] or match["after"]
    kind = None if match["kind"] in (None, "data") else match["kind"]
    return SpecialName(match["table"], kind, _number(version))


@dataclass(frozen=True, slots=True)
class ReferenceName:
    """A branch or tag of a table, as Iceberg names it in Spark: ``t.branch_audit``."""

    table: str
    kind: str
    name: str


def reference_name(name: str) -> ReferenceName | None:
    """What ``t.branch_x`` and ``t.tag_x`` mean; None for another name."""
    match = _REFERENCE.fullmatch(name)
    return None if match is None else ReferenceName(match["table"], match["kind"], match["name"])


def base_name(name: str) -> str:
    """The table that a name means, of which it may ask for something.

    >>> base_name("orders$files"), base_name("orders@7"), base_name("orders"), base_name("orders.branch_audit")
    ('orders', 'orders', 'orders', 'orders')
    """
    reference = reference_name(name)
    if reference is not None:
        return reference.table
    match = _NAME.fullmatch(name) if "$" in name or "@" in name else None
    return name if match is None else match["table"]


def _number(digits: str | None) -> int | None:
    return None if digits is None else int(digits)
