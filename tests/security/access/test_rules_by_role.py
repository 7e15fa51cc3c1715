"""Rules with ``role``: by the roles that somebody uses in the catalog that is asked about."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from coordinator.security.access_control.load import load_access_policy
from tests.security.access.conftest import Ruled, root

Rules = Callable[..., None]
ROOTS = {"user": "root", "privileges": ["SELECT", "INSERT", "DELETE", "UPDATE", "OWNERSHIP", "GRANT_SELECT"]}


@pytest.fixture
def rules(lab: Ruled) -> Iterator[Rules]:
    """Rules of the system, asked before those of the catalog, in which bob has role ``readers`` and may read all."""
    root(lab, "CREATE ROLE readers", "CREATE ROLE ops", "GRANT readers TO USER bob")
    root(
        lab, *(f"GRANT SELECT ON {table} TO USER {user}" for table in ("people", "others") for user in ("bob", "carol"))
    )
    before, etc = lab.catalogs.access, lab.home / "etc"
    file = etc / "access-control.properties"

    def written(**sections: Any) -> None:
        (etc / "rules.json").write_text(json.dumps(sections))
        file.write_text("access-control.name=file\nsecurity.config-file=rules.json\n")
        lab.catalogs.access = load_access_policy(etc, lab.catalogs, authenticated=False)

    yield written
    file.unlink()
    lab.catalogs.access = before


def test_tables(lab: Ruled, rules: Rules) -> None:
    rules(tables=[{"role": "read.*", "table": "people", "privileges": ["SELECT"]}, ROOTS])
    assert lab.rows("bob", "SELECT count(*) FROM people") == [(4,)]
    assert "Cannot select" in lab.refused("bob", "SELECT count(*) FROM others")
    assert "Cannot select" in lab.refused("carol", "SELECT count(*) FROM people")
    for chosen, allowed in {"NONE": False, "ALL": True, "ROLE{readers}": True, "ROLE{public}": False}.items():
        said = lab.refused("bob", "SELECT count(*) FROM people", roles={"lab": chosen})
        assert (said == "") == allowed, (chosen, said)
    assert lab.rows("carol", "SHOW TABLES") == []
    root(lab, "REVOKE readers FROM USER bob")  # from the next statement on
    assert "Cannot select" in lab.refused("bob", "SELECT count(*) FROM people")
    root(lab, "GRANT readers TO USER carol")
    assert lab.rows("carol", "SELECT count(*) FROM people") == [(4,)]


def test_a_role_that_is_not_theirs(lab: Ruled, rules: Rules) -> None:
    rules(tables=[{"role": "ops", "privileges": ["SELECT"]}, ROOTS])
    for claimed in ("ROLE{ops}", "ROLE{admin}", "ROLE{.*}"):
        said = lab.refused("bob", "SELECT count(*) FROM people", roles={"lab": claimed})
        assert said.startswith("Access Denied: "), claimed
    # Of another catalog, which keeps none, or of none at all.
    for catalog in ("system", "tpch", "nowhere"):
        assert "Cannot select" in lab.refused("bob", "SELECT id FROM people", roles={catalog: "ROLE{ops}"})


def test_roles_of_one_catalog_count_in_no_other(lab: Ruled, rules: Rules) -> None:
    rules(tables=[{"role": "readers", "privileges": ["SELECT"]}, ROOTS])
    assert lab.refused("bob", "SELECT id FROM people") == ""
    assert "Cannot select" in lab.refused("bob", "SELECT name FROM tpch.tiny.nation")


def test_catalogs(lab: Ruled, rules: Rules) -> None:
    rules(catalogs=[{"user": "root", "allow": "all"}, {"role": "readers", "catalog": "lab", "allow": "read-only"}])
    assert lab.rows("bob", "SHOW CATALOGS") == [("lab",), ("system",)]
    assert lab.refused("bob", "SELECT id FROM people") == ""
    assert lab.rows("carol", "SHOW CATALOGS") == [("system",)]
    assert "Cannot access catalog lab" in lab.refused("carol", "SELECT id FROM people")
    assert lab.rows("bob", "SHOW CATALOGS", roles={"lab": "NONE"}) == [("system",)]


def test_filters_and_masks(lab: Ruled, rules: Rules) -> None:
    masked = {"role": "readers", "table": "people", "privileges": ["SELECT"], "filter": "id < 3"}
    masked["columns"] = [{"name": "salary", "mask": "-1"}]
    rules(tables=[masked, {"privileges": ROOTS["privileges"]}])
    assert sorted(lab.rows("bob", "SELECT id, salary FROM people")) == [(1, -1), (2, -1)]
    assert len(lab.rows("carol", "SELECT id, salary FROM people")) == 4
    assert sorted(lab.rows("bob", "SELECT id, salary FROM people")) == [(1, -1), (2, -1)]


def test_a_views_owner_has_the_roles_that_are_theirs(lab: Ruled, rules: Rules) -> None:
    """Not those of who reads the view, nor a choice of theirs."""
    root(lab, "GRANT SELECT ON v TO USER carol", "GRANT SELECT ON people TO USER alice WITH GRANT OPTION")
    rules(
        tables=[
            {"role": "ops", "table": "people", "privileges": ["GRANT_SELECT", "SELECT"]},
            {"table": "v", "privileges": ["SELECT"]},
            ROOTS,
        ]
    )
    assert "View owner 'alice'" in lab.refused("carol", "SELECT id FROM v")
    root(lab, "GRANT ops TO USER carol")
    assert "View owner 'alice'" in lab.refused("carol", "SELECT id FROM v")
    root(lab, "REVOKE ops FROM USER carol", "GRANT ops TO USER alice")
    assert lab.refused("carol", "SELECT id FROM v", roles={"lab": "NONE"}) == ""
    assert "Cannot select" in lab.refused("carol", "SELECT id FROM people")


def test_authorization(lab: Ruled, rules: Rules) -> None:
    root(lab, "ALTER TABLE people SET AUTHORIZATION bob", "ALTER TABLE others SET AUTHORIZATION carol")
    rules(authorization=[{"original_role": "readers", "new_user": "dan"}])
    assert lab.refused("bob", "ALTER TABLE people SET AUTHORIZATION dan") == ""
    assert "Cannot set authorization" in lab.refused("bob", "ALTER TABLE people SET AUTHORIZATION eve")
    assert "Cannot set authorization" in lab.refused("carol", "ALTER TABLE others SET AUTHORIZATION dan")


def test_plans_are_not_kept_where_roles_matter(lab: Ruled, rules: Rules) -> None:
    rules(tables=[{"role": "readers", "privileges": ["SELECT"]}])
    assert lab.catalogs.access.control.rules_version is None
