"""Policies of maintenance: Apache Polaris' four types and field names, for catalogs, schemas and tables, and two more.

``{"policies": [{"name": "bronze", "tables": "iceberg.bronze_*", "system.data-compaction": {"enable": true, "config":
{"min-input-files": 12}}}]}``. ``tables`` names a catalog, a schema or a table by dotted words, each of which may hold
``*``. For each type the policy of the narrowest name counts whole, the later one among equals; one that disables wins
over all others, as Polaris has it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from coordinator.values.settings import Bytes, Seconds
from shared.properties import ConfigurationError

Strategy = Literal["auto", "binpack", "sort"]


def _pattern(value: object) -> object:
    if isinstance(value, str) and not 1 <= len(value.split(".")) <= 3:
        raise ValueError("tables names a catalog, catalog.schema or catalog.schema.table")
    if isinstance(value, str) and not all(value.split(".")):
        raise ValueError("tables holds an empty name")
    return value.lower() if isinstance(value, str) else value


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class CompactionConfig(_Model):
    """What ``config`` of ``system.data-compaction`` may say; the numbers are those of one partition."""

    min_input_files: int = Field(12, alias="min-input-files", ge=2)
    strategy: Strategy = "auto"
    target_file_size_bytes: Bytes | None = Field(None, gt=0)
    min_interval: Seconds = Field(900.0, alias="min-interval", ge=0)
    deleted_ratio: float = Field(0.1, alias="deleted-ratio", gt=0, le=1)
    filter: str | None = None
    min_overlap_depth: int | None = Field(4, alias="min-overlap-depth", ge=2)
    rewrite_stale_sort_order: bool = Field(False, alias="rewrite-stale-sort-order")


class MetadataConfig(_Model):
    """Of ``system.metadata-compaction``."""

    min_manifests: int = Field(100, alias="min-manifests", ge=2)


class ExpiryConfig(_Model):
    """Of ``system.snapshot-expiry``; what the table's ``history.expire`` properties say goes before."""

    max_snapshot_age_days: float | None = Field(None, gt=0)
    min_snapshot_to_keep: int | None = Field(None, ge=1)
    min_snapshots_to_expire: int = Field(20, alias="min-snapshots-to-expire", ge=1)


class OrphanConfig(_Model):
    """Of ``system.orphan-file-removal``."""

    interval: Seconds = Field(7 * 86400.0, ge=86400.0)


class StatisticsConfig(_Model):
    """Of ``procession.statistics``."""

    stale_ratio: float = Field(0.1, alias="stale-ratio", gt=0, le=1)


class PartitionExpiryConfig(_Model):
    """Of ``procession.partition-expiry``."""

    expire_after: Seconds = Field(alias="expire-after", ge=3600.0)


class Compaction(_Model):
    """``system.data-compaction``"""

    version: str | None = None
    enable: bool
    config: CompactionConfig = CompactionConfig()


class MetadataCompaction(_Model):
    """``system.metadata-compaction``"""

    version: str | None = None
    enable: bool
    config: MetadataConfig = MetadataConfig()


class SnapshotExpiry(_Model):
    """``system.snapshot-expiry``"""

    version: str | None = None
    enable: bool
    config: ExpiryConfig = ExpiryConfig()


class OrphanFileRemoval(_Model):
    """``system.orphan-file-removal``; files younger than a day are never removed."""

    version: str | None = None
    enable: bool
    max_orphan_file_age_in_days: float = Field(7.0, ge=1)
    config: OrphanConfig = OrphanConfig()


class Statistics(_Model):
    """``procession.statistics``: brings statistics up to date that the table has."""

    enable: bool
    config: StatisticsConfig = StatisticsConfig()


class PartitionExpiry(_Model):
    """``procession.partition-expiry``: deletes partitions of a time column that are older."""

    enable: bool
    config: PartitionExpiryConfig


class Policy(_Model):
    """One entry of the file."""

    name: str
    tables: Annotated[str, BeforeValidator(_pattern)] = "*"
    compaction: Compaction | None = Field(None, alias="system.data-compaction")
    metadata: MetadataCompaction | None = Field(None, alias="system.metadata-compaction")
    expiry: SnapshotExpiry | None = Field(None, alias="system.snapshot-expiry")
    orphans: OrphanFileRemoval | None = Field(None, alias="system.orphan-file-removal")
    statistics: Statistics | None = Field(None, alias="procession.statistics")
    partitions: PartitionExpiry | None = Field(None, alias="procession.partition-expiry")

    def matches(self, catalog: str, schema: str, table: str) -> bool:
        """In any letters; only ``*`` is no plain letter."""
        words, names = self.tables.split("."), (catalog, schema, table)
        plain = (word.replace("[", "[[]").replace("?", "[?]") for word in words)
        return all(fnmatchcase(name.lower(), word) for name, word in zip(names, plain, strict=False))

    @property
    def narrowness(self) -> tuple[int, int]:
        """How much of a name it gives, then how much of that literally."""
        return self.tables.count("."), sum(character != "*" for character in self.tables)


class PolicyFile(_Model):
    """The whole file."""

    policies: tuple[Policy, ...] = ()


@dataclass(frozen=True, slots=True)
class TablePolicy:
    """What holds for one table. ``sources`` tells for each type which policy said so."""

    compaction: Compaction
    metadata: MetadataCompaction
    expiry: SnapshotExpiry
    orphans: OrphanFileRemoval
    statistics: Statistics
    partitions: PartitionExpiry | None = None
    enabled: bool = True
    dry_run: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def snapshot_age(self) -> timedelta | None:
        days = self.expiry.config.max_snapshot_age_days
        return None if days is None else timedelta(days=days)


DEFAULT = TablePolicy(
    Compaction(enable=True),
    MetadataCompaction(enable=True),
    SnapshotExpiry(enable=True),
    OrphanFileRemoval(enable=False),
    Statistics(enable=True),
)
"""Without a policy: everything that removes nothing but what nobody needs; orphan files only when asked for."""
TYPES = ("compaction", "metadata", "expiry", "orphans", "statistics", "partitions")


def read_policies(file: Path) -> tuple[Policy, ...]:
    """Raises ConfigurationError that names the file and the place in it."""
    try:
        return PolicyFile.model_validate(json.loads(file.read_text(encoding="utf-8"))).policies
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from error
    except ValidationError as error:
        problem = error.errors()[0]
        place = "/".join(str(part) for part in problem["loc"])
        raise ConfigurationError(f"{file}: {place}: {problem['msg'].removeprefix('Value error, ')}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{file}: not JSON: {error}") from error


def policy_of(
    policies: tuple[Policy, ...], catalog: str, schema: str, table: str, attached: tuple[Policy, ...] = ()
) -> TablePolicy:
    """What the file says of a table, over the defaults; ``attached`` ones are the narrowest, the last before others."""
    matching = sorted((p for p in policies if p.matches(catalog, schema, table)), key=lambda p: p.narrowness)
    matching += attached
    chosen: dict[str, BaseModel | None] = {}
    sources: dict[str, str] = {}
    for name in TYPES:
        found = [(policy.name, content) for policy in matching if (content := getattr(policy, name)) is not None]
        disabling = [entry for entry in found if not entry[1].enable]
        entries = disabling or found
        chosen[name] = entries[-1][1] if entries else getattr(DEFAULT, name)
        sources[name] = entries[-1][0] if entries else "default"
    return TablePolicy(**chosen, sources=sources)  # type: ignore[arg-type]  # each is of its field's type
