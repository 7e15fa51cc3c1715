"""Policies: files, inheritance, and what tables say themselves."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from coordinator.maintenance.policies import DEFAULT, Policy, policy_of, read_policies
from coordinator.maintenance.table_words import spoken
from shared.properties import ConfigurationError

# The example of docs/maintenance-service.md, with Polaris' field names.
BRONZE = {
    "name": "bronze",
    "tables": "iceberg.bronze_*",
    "system.data-compaction": {
        "version": "2025-02-03",
        "enable": True,
        "config": {"min-input-files": 20, "strategy": "sort", "target_file_size_bytes": 134217728},
    },
    "system.snapshot-expiry": {"enable": True, "config": {"max_snapshot_age_days": 3, "min_snapshot_to_keep": 10}},
    "system.orphan-file-removal": {"enable": True, "max_orphan_file_age_in_days": 5},
}


def policies(tmp_path: Path, *entries: dict[str, Any]) -> tuple[Policy, ...]:
    file = tmp_path / "maintenance.json"
    file.write_text(json.dumps({"policies": entries}))
    return read_policies(file)


def compaction(name: str, tables: str, files: int = 5, *, enable: bool = True) -> dict[str, Any]:
    content = {"enable": enable, "config": {"min-input-files": files}}
    return {"name": name, "tables": tables, "system.data-compaction": content}


def test_a_policy_holds_for_what_it_names_and_the_defaults_for_the_rest(tmp_path: Path) -> None:
    given = policies(tmp_path, BRONZE)
    found = policy_of(given, "iceberg", "bronze_web", "clicks")
    assert found.compaction.config.min_input_files == 20
    assert found.compaction.config.strategy == "sort"
    assert found.snapshot_age == timedelta(days=3)
    assert found.orphans.enable
    assert found.orphans.max_orphan_file_age_in_days == 5
    assert found.sources["compaction"] == "bronze"
    assert found.sources["metadata"] == "default"
    other = policy_of(given, "iceberg", "silver", "clicks")
    assert other.compaction == DEFAULT.compaction
    assert not other.orphans.enable


def test_the_narrowest_name_counts_whole_and_the_later_among_equals(tmp_path: Path) -> None:
    given = policies(
        tmp_path,
        compaction("table", "iceberg.db.t", 6),
        compaction("everything", "*", 2),
        compaction("catalog", "iceberg", 3),
        compaction("wild schema", "iceberg.d*", 4),
        compaction("schema", "iceberg.db", 5),
        compaction("schema again", "iceberg.db", 7),
    )
    found = {
        name: policy_of(given, *name.split(".")).sources["compaction"]
        for name in ("iceberg.db.t", "iceberg.db.u", "iceberg.dx.t", "iceberg.x.t", "other.x.t")
    }
    assert found == {
        "iceberg.db.t": "table",
        "iceberg.db.u": "schema again",
        "iceberg.dx.t": "wild schema",
        "iceberg.x.t": "catalog",
        "other.x.t": "everything",
    }


def test_one_that_disables_wins_over_narrower_ones(tmp_path: Path) -> None:
    given = policies(tmp_path, compaction("stop", "iceberg", enable=False), compaction("go", "iceberg.db.t"))
    found = policy_of(given, "iceberg", "db", "t")
    assert not found.compaction.enable
    assert found.sources["compaction"] == "stop"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"name": "a", "colour": 1}, "policies/0/colour: Extra inputs are not permitted"),
        ({"name": "a", "tables": "a.b.c.d"}, "policies/0/tables: tables names a catalog"),
        ({"name": "a", "tables": "a..c"}, "policies/0/tables: tables holds an empty name"),
        ({"name": "a", "system.data-compaction": {}}, "system.data-compaction/enable: Field required"),
        (
            {"name": "a", "system.data-compaction": {"enable": True, "config": {"min-input-files": 1}}},
            "min-input-files: Input should be greater than or equal to 2",
        ),
        (
            {"name": "a", "system.orphan-file-removal": {"enable": True, "max_orphan_file_age_in_days": 0.5}},
            "max_orphan_file_age_in_days: Input should be greater than or equal to 1",
        ),
        ({"tables": "a"}, "policies/0/name: Field required"),
    ],
)
def test_a_wrong_file_says_where(tmp_path: Path, entry: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        policies(tmp_path, entry)
    assert problem in str(raised.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"policies": 1}'])
def test_what_is_no_policy_file_is_an_error_of_the_configuration(tmp_path: Path, text: str) -> None:
    file = tmp_path / "maintenance.json"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=r"maintenance\.json"):
        read_policies(file)


def test_a_table_speaks_for_itself_by_our_names_and_by_those_of_others() -> None:
    found = spoken(DEFAULT, {"procession.maintenance.compaction.min-input-files": "3", "table-expire.enabled": "false"})
    assert found.policy.compaction.config.min_input_files == 3
    assert not found.policy.expiry.enable
    assert not spoken(DEFAULT, {"self-optimizing.enabled": "false"}).policy.enabled
    assert spoken(DEFAULT, {"procession.maintenance.enabled": "dry-run"}).policy.dry_run
    both = {"self-optimizing.enabled": "false", "procession.maintenance.enabled": "true"}
    assert spoken(DEFAULT, both).policy.enabled


def test_a_table_cannot_switch_on_what_deletes() -> None:
    """Who may set properties of a table may not delete its files thereby."""
    words = {
        "procession.maintenance.orphans.enabled": "true",
        "procession.maintenance.partitions.expire-after": "1h",
        "procession.maintenance.expire.enabled": "true",
    }
    found = spoken(DEFAULT, words)
    assert found.policy.orphans == DEFAULT.orphans
    assert not found.policy.orphans.enable
    assert found.policy.partitions is None
    assert found.ignored == ("procession.maintenance.partitions.expire-after: no policy allows partitions of this "
                             "table to expire",)  # fmt: skip


@pytest.mark.parametrize("value", ["", "yes", "9" * 5000, "²", "-1", "1"])
def test_wrong_words_are_ignored_and_told(value: str) -> None:
    found = spoken(DEFAULT, {"procession.maintenance.compaction.min-input-files": value})
    assert found.policy == DEFAULT
    (told,) = found.ignored
    assert len(told) < 200


def test_names_count_in_any_letters_and_only_the_star_is_none(tmp_path: Path) -> None:
    """Other programs make tables with capital letters, too: what is switched off for them stays off."""
    given = policies(
        tmp_path, compaction("a", "lake.legal.holds", enable=False), compaction("b", "lake.db.t[1]", enable=False)
    )
    assert not policy_of(given, "lake", "Legal", "HOLDS").compaction.enable
    assert not policy_of(given, "lake", "db", "t[1]").compaction.enable
    assert policy_of(given, "lake", "db", "t1").compaction.enable
