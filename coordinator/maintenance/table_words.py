"""What a table says of its own maintenance, by our property names and those of other services.

The table's own word goes before a policy's, except that it cannot enable what a policy disables: who may write
properties of a table may not thereby delete its files. Wrong values are ignored and told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from coordinator.maintenance.policies import PartitionExpiry, PartitionExpiryConfig, TablePolicy
from shared.units import parse_duration

_OWN = "procession.maintenance."


@dataclass(frozen=True, slots=True)
class Spoken:
    """The policy after the table has spoken, and which of its words could not be used."""

    policy: TablePolicy
    ignored: tuple[str, ...] = ()


def spoken(policy: TablePolicy, properties: Mapping[str, str]) -> Spoken:
    """A policy as the properties of a table change it."""
    ignored = []
    for names, change in _WORDS:
        name = next((name for name in names if name in properties), None)
        if name is None:
            continue
        try:
            policy = change(policy, properties[name].strip())
        except ValueError as error:
            ignored.append(f"{name}: {error}")
    return Spoken(policy, tuple(ignored))


def _switched(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"'{text[:40]}' is neither true nor false")
    return text.lower() == "true"


def _enabled(policy: TablePolicy, text: str) -> TablePolicy:
    if text.lower() == "dry-run":
        return replace(policy, dry_run=True)
    return replace(policy, enabled=policy.enabled and _switched(text))


def _switch(part: str) -> Callable[[TablePolicy, str], TablePolicy]:
    """Only off: on is what policies say."""

    def change(policy: TablePolicy, text: str) -> TablePolicy:
        if _switched(text):
            return policy
        return replace(policy, **{part: getattr(policy, part).model_copy(update={"enable": False})})

    return change


def _config(part: str, field: str, read: Callable[[str], object]) -> Callable[[TablePolicy, str], TablePolicy]:
    def change(policy: TablePolicy, text: str) -> TablePolicy:
        old = getattr(policy, part)
        config = old.config.model_copy(update={field: read(text)})
        return replace(policy, **{part: old.model_copy(update={"config": config})})

    return change


def _strategy(text: str) -> str:
    if text not in ("auto", "binpack", "sort"):
        raise ValueError(f"'{text[:40]}' is none of auto, binpack, sort")
    return text


def _count(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < least:
            raise ValueError(f"'{text[:40]}' is no number of at least {least}")
        return int(text)

    return read


def _partitions(policy: TablePolicy, text: str) -> TablePolicy:
    """Shortens or lengthens a life that a policy allows to end; alone it expires nothing."""
    seconds = parse_duration(text)
    if seconds < 3600:
        raise ValueError(f"'{text[:40]}' is less than an hour")
    if policy.partitions is None or not policy.partitions.enable:
        raise ValueError("no policy allows partitions of this table to expire")
    config = PartitionExpiryConfig.model_validate({"expire-after": seconds})
    return replace(policy, partitions=PartitionExpiry(enable=True, config=config))


_WORDS: tuple[tuple[tuple[str, ...], Callable[[TablePolicy, str], TablePolicy]], ...] = (
    ((f"{_OWN}enabled", "self-optimizing.enabled"), _enabled),
    ((f"{_OWN}compaction.enabled",), _switch("compaction")),
    ((f"{_OWN}compaction.strategy",), _config("compaction", "strategy", _strategy)),
    ((f"{_OWN}compaction.min-input-files",), _config("compaction", "min_input_files", _count(2))),
    ((f"{_OWN}compaction.min-overlap-depth",), _config("compaction", "min_overlap_depth", _count(2))),
    (
        (f"{_OWN}expire.enabled", "lakekeeper.history.expire.enabled", "table-expire.enabled"),
        _switch("expiry"),
    ),
    (
        (f"{_OWN}expire.min-snapshots-to-expire", "lakekeeper.history.expire.min-snapshots-to-expire"),
        _config("expiry", "min_snapshots_to_expire", _count(1)),
    ),
    (
        (f"{_OWN}orphans.enabled", "lakekeeper.remove-orphan-files.enabled", "clean-orphan-file.enabled"),
        _switch("orphans"),
    ),
    ((f"{_OWN}partitions.expire-after", "data-expire.retention-time"), _partitions),
)
"""Names, the nearest first, and what they change."""
