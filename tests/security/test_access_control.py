"""System access control by itself: what rules of a file mean, what is wrong in them, and who sees which jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from coordinator.dispatch.access import admitted
from coordinator.engine.guarded_jobs import GuardedJobLog
from coordinator.security.access_control.built_in import AllowAll, OwnQueries, ReadOnly
from coordinator.security.access_control.file_rules import FileRules
from coordinator.security.access_control.load import load_access_control
from coordinator.security.access_control.rules import read_rules
from coordinator.security.current_session import acting_for
from shared.errors import ErrorCode
from shared.properties import ConfigurationError
from shared.spi.access_control import AccessDeniedError, Identity
from shared.spi.accesses import CreateCatalog, DropCatalog
from shared.spi.jobs import Job
from shared.spi.session import Session

ALICE = Identity("alice", "alice@lake", ("admins",))
BOB = Identity("bob", "bob@lake")


@pytest.fixture
def rules(tmp_path: Path) -> Callable[..., FileRules]:
    def made(**sections: Any) -> FileRules:
        file = tmp_path / "rules.json"
        file.write_text(json.dumps(sections))
        read = read_rules(file)
        return FileRules(lambda: read)

    return made


def denied(check: Callable[..., None], *arguments: Any, **options: Any) -> str:
    """What the check says; empty when it allows."""
    try:
        check(*arguments, **options)
    except AccessDeniedError as error:
        assert error.code is ErrorCode.PERMISSION_DENIED
        return error.message.removeprefix("Access Denied: ")
    return ""


def test_without_sections_all_is_allowed_but_to_act_as_others_and_to_end_the_node(
    rules: Callable[..., FileRules],
) -> None:
    control = rules()
    assert denied(control.check_can_access_catalog, BOB, "x", changes=True) == ""
    assert denied(control.check_can_execute_query, BOB) == ""
    assert denied(control.check_can_kill_query_owned_by, BOB, ALICE) == ""
    assert denied(control.check_can_set_system_session_property, BOB, "x") == ""
    assert denied(control.check_can_set_catalog_session_property, BOB, "c", "x") == ""
    assert denied(control.check_can_set_user, "anybody", "bob") == ""
    assert denied(control.check_can_impersonate_user, ALICE, "bob") == "User alice cannot impersonate user bob"
    assert denied(control.check_can_read_system_information, ALICE) == "Cannot read system information"
    assert denied(control.check_can_write_system_information, ALICE) == "Cannot write system information"


def test_an_empty_section_denies(rules: Callable[..., FileRules]) -> None:
    control = rules(catalogs=[], queries=[], system_session_properties=[], catalog_session_properties=[], principals=[])
    assert denied(control.check_can_access_catalog, BOB, "x", changes=False) == "Cannot access catalog x"
    assert denied(control.check_can_access_catalog, BOB, "system", changes=False) == ""
    assert denied(control.check_can_execute_query, BOB) == "Cannot execute query"
    assert denied(control.check_can_view_query_owned_by, BOB, ALICE) == "Cannot view query"
    assert denied(control.check_can_view_query_owned_by, BOB, BOB) == ""
    assert denied(control.check_can_set_system_session_property, BOB, "x") == "Cannot set system session property x"
    problem = denied(control.check_can_set_catalog_session_property, BOB, "system", "x")
    assert problem == "Cannot set catalog session property system.x"
    assert denied(control.check_can_set_user, "bob", "bob") == "Principal bob cannot become user bob"


def test_the_first_rule_that_matches_the_whole_name_decides(rules: Callable[..., FileRules]) -> None:
    control = rules(
        catalogs=[
            {"user": "bo", "allow": "all"},
            {"user": "b.*", "catalog": "lake|system", "allow": "read-only"},
            {"group": "admins", "catalog": "secret", "allow": True},
            {"role": "anything", "allow": "all"},
            {"catalog": "secret", "allow": False},
            {"catalog": "forgotten"},
            {"allow": "all"},
        ]
    )

    def access(identity: Identity, catalog: str) -> str:
        if denied(control.check_can_access_catalog, identity, catalog, changes=False):
            return "none"
        return "read" if denied(control.check_can_access_catalog, identity, catalog, changes=True) else "all"

    catalogs = ("lake", "lake2", "system", "secret", "forgotten")
    assert [access(BOB, name) for name in catalogs] == ["read", "all", "read", "none", "none"]
    assert [access(ALICE, name) for name in catalogs] == ["all", "all", "all", "all", "none"]
    assert control.filter_catalogs(BOB, catalogs) == {"lake", "lake2", "system"}


def test_queries_of_others(rules: Callable[..., FileRules]) -> None:
    control = rules(
        queries=[
            {"group": "admins", "queryOwner": "b.*", "allow": ["view", "kill"]},
            {"group": "admins", "allow": ["execute", "view"]},
            {"queryOwner": "alice", "allow": ["view"]},
            {"allow": ["execute"]},
        ]
    )
    carol = Identity("carol")
    assert denied(control.check_can_kill_query_owned_by, ALICE, BOB) == ""
    assert denied(control.check_can_view_query_owned_by, ALICE, carol) == ""
    assert denied(control.check_can_kill_query_owned_by, ALICE, carol) == "Cannot kill query"
    assert denied(control.check_can_view_query_owned_by, BOB, ALICE) == ""
    assert denied(control.check_can_view_query_owned_by, BOB, carol) == "Cannot view query"
    assert [denied(control.check_can_execute_query, each) for each in (ALICE, BOB)] == ["", ""]


def test_impersonation(rules: Callable[..., FileRules]) -> None:
    control = rules(
        impersonation=[
            {"original_user": "alice", "new_user": "root", "allow": False},
            {"original_user": "alice", "new_user": ".*"},
            {"original_user": "(b.*)", "new_user": "$1_(test|dev)"},
        ]
    )
    assert denied(control.check_can_impersonate_user, ALICE, "carol") == ""
    assert denied(control.check_can_impersonate_user, ALICE, "root") == "User alice cannot impersonate user root"
    assert denied(control.check_can_impersonate_user, BOB, "bob_test") == ""
    for user in ("bob_prod", "bo_test", "xbob_test"):
        assert denied(control.check_can_impersonate_user, BOB, user) == f"User bob cannot impersonate user {user}"
    # What the name of a user holds is no pattern.
    assert denied(control.check_can_impersonate_user, Identity("b.*"), "bad_test") != ""


def test_principals_as_presto_has_them(rules: Callable[..., FileRules]) -> None:
    control = rules(
        principals=[
            {"principal": "root@.*", "user": ".*", "allow": False},
            {"principal": "(.*)@lake", "principal_to_user": "$1", "allow": True},
            {"principal": "gateway", "user": "alice|bob", "allow": True},
            {"principal": "forgotten", "user": ".*"},
        ]
    )
    allowed = [("alice@lake", "alice"), ("gateway", "bob")]
    refused = [("alice@lake", "bob"), ("gateway", "carol"), ("root@lake", "root"), ("forgotten", "x"), (None, "x")]
    assert [denied(control.check_can_set_user, *each) for each in allowed] == [""] * 2
    assert all(denied(control.check_can_set_user, *each) for each in refused)
    assert denied(control.check_can_impersonate_user, Identity("gateway", "gateway"), "bob") == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[", "truncated"),
        ("[]", "Expected `object`"),
        ('{"impersonation": [{"original_role": "x", "new_user": ".*"}]}', "cannot name a role"),
        ('{"queries": [{"role": "x", "allow": ["kill"]}]}', "rules of 'queries' cannot name a role"),
        ('{"system_information": [{"role": "x", "allow": ["read"]}]}', "cannot name a role"),
        ('{"system_session_properties": [{"role": "x", "allow": true}]}', "cannot name a role"),
        ('{"roles": []}', "section 'roles' is not enforced"),
        ('{"authorization": [{"allow": true}]}', "needs new_user or new_role"),
        ('{"tables": [{}]}', "missing required field `privileges`"),
        ('{"tables": [{"privileges": ["READ"]}]}', "Invalid enum value 'READ'"),
        ('{"tables": [{"privileges": [], "tabel": "x"}]}', "unknown field `tabel`"),
        ('{"tables": [{"privileges": [], "columns": [{"nam": "x"}]}]}', "unknown field `nam`"),
        ('{"tables": [{"privileges": [], "filter_environment": {"user": "x"}}]}', "without filter"),
        ('{"version": "1"}', "unknown field `version`"),
        ('{"catalog": []}', "unknown field `catalog`"),
        ('{"catalogs": [{"alow": "all"}]}', "unknown field `alow`"),
        ('{"catalogs": [{"allow": "write"}]}', "Invalid enum value 'write'"),
        ('{"catalogs": [{"user": "("}]}', "not a valid regular expression"),
        ('{"catalogs": [{"user": 7}]}', "expected a text"),
        ('{"queries": [{"queryOwner": "x", "allow": ["execute"]}]}', "queryOwner cannot allow execute"),
        ('{"principals": [{"principal": "x", "allow": true}]}', "needs user or principal_to_user"),
        ('{"impersonation": [{"original_user": "x", "new_user": "$1"}]}', "names a group that original_user"),
        ('{"impersonation": [{"new_user": "("}]}', "not a valid regular expression"),
    ],
)
def test_wrong_rules_stop_the_start(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "rules.json"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=problem) as failure:
        read_rules(file)
    assert str(failure.value).startswith(str(file))


def test_which_access_control(tmp_path: Path) -> None:
    file = tmp_path / "access-control.properties"
    assert type(load_access_control(tmp_path, authenticated=False)) is AllowAll
    assert type(load_access_control(tmp_path, authenticated=True)) is OwnQueries
    for name, kind in (("allow-all", AllowAll), ("read-only", ReadOnly)):
        file.write_text(f"access-control.name={name}\n")
        assert type(load_access_control(tmp_path, authenticated=True)) is kind
    for text, problem in (
        ("", "'access-control.name' is missing"),
        ("access-control.name=ranger", ":1: no access control is named 'ranger'"),
        ("access-control.name=file", "'security.config-file' is missing"),
        ("access-control.name=file\nsecurity.config-file=x", "no such file: x"),
        ("access-control.name=allow-all\nx=y", ":2: unknown property 'x'"),
    ):
        file.write_text(text)
        with pytest.raises(ConfigurationError, match=problem):
            load_access_control(tmp_path, authenticated=True)


def test_read_only_and_own_queries() -> None:
    control = ReadOnly()
    assert denied(control.check_can_access_catalog, BOB, "lake", changes=True) == "Cannot access catalog lake"
    assert denied(control.check_can_access_catalog, BOB, "lake", changes=False) == ""
    assert denied(control.check_can_access_catalog, BOB, "system", changes=True) == ""
    assert denied(control.check_can_impersonate_user, ALICE, "bob") == "Principal alice@lake cannot become user bob"
    assert denied(control.check_can_view_query_owned_by, BOB, ALICE) == "Cannot view query"
    assert denied(control.check_can_view_query_owned_by, BOB, Identity("bob")) == ""


def test_who_may_make_and_drop_catalogs(rules: Callable[..., FileRules]) -> None:
    """Who makes one reads what the coordinator reads: the catalog alone is not enough, nor is to manage the node."""
    node = [{"user": "alice|carol", "allow": ["read", "write"]}, {"user": "bob", "allow": ["read"]}]
    catalogs = [{"user": "alice|bob", "allow": "all"}, {"user": "carol", "allow": "read-only"}]
    control = rules(catalogs=catalogs, system_information=node)
    for access, verb in ((CreateCatalog("lake"), "create"), (DropCatalog("lake"), "drop")):
        assert denied(control.check_access, ALICE, access) == ""
        for user in (BOB, Identity("carol"), Identity("dave")):
            assert denied(control.check_access, user, access) == f"Cannot {verb} catalog lake"
        assert denied(rules(catalogs=catalogs).check_access, ALICE, access) == f"Cannot {verb} catalog lake"
        assert denied(OwnQueries().check_access, ALICE, access) == f"Cannot {verb} catalog lake"
        assert denied(ReadOnly().check_access, ALICE, access) == f"Cannot {verb} catalog lake"
        assert denied(AllowAll().check_access, BOB, access) == ""


def test_a_session_knows_its_catalogs(rules: Callable[..., FileRules]) -> None:
    control = rules(catalogs=[{"user": "bob", "catalog": "a", "allow": "all"}, {"user": "alice", "allow": "all"}])
    catalogs = ("a", "b", "system")
    assert admitted(control, Session(user="alice"), catalogs).accessible_catalogs is None
    assert admitted(control, Session(user="bob"), catalogs).accessible_catalogs == ("a", "system")


def job(number: int, user: str) -> Job:
    return Job(f"job{number}", "p", None, user, "RUNNING", datetime(2026, 1, number, tzinfo=UTC))


def test_jobs_of_others_are_neither_seen_nor_ended(tmp_path: Path) -> None:
    ended: list[str] = []
    log = GuardedJobLog(tmp_path / "jobs.db", OwnQueries(), str.lower)
    with log.running(job(1, "alice"), ended.append), log.running(job(2, "bob"), ended.append):
        assert len(log.jobs(10)) == 2
        with acting_for(Session(user="bob")):
            assert [each.job_id for each in log.jobs(10)] == ["job2"]
            assert not log.kill("job1", "mine")
            assert log.kill("job2", "theirs")
    assert ended == ["theirs"]
    log.close()


class Viewers(OwnQueries):
    def check_can_view_query_owned_by(self, identity: Identity, owner: Identity) -> None: ...


def test_a_job_that_is_seen_is_not_therefore_ended() -> None:
    ended: list[str] = []
    log = GuardedJobLog(None, Viewers(), str.lower)
    with log.running(job(1, "alice"), ended.append), acting_for(Session(user="bob")):
        assert len(log.jobs(10)) == 1
        with pytest.raises(AccessDeniedError, match="Cannot kill query"):
            log.kill("job1", "x")
    assert ended == []


def test_errors_of_jobs_hold_no_secrets(tmp_path: Path) -> None:
    log = GuardedJobLog(tmp_path / "jobs.db", AllowAll(), lambda text: text.replace("hunter2", "***"))
    from shared.errors import ProcessionError

    with pytest.raises(ProcessionError), log.running(job(1, "alice"), print):
        raise ProcessionError(ErrorCode.GENERIC_USER_ERROR, "key hunter2 is wrong")
    assert [each.error for each in log.jobs(10)] == ["key *** is wrong"]
    log.close()
    assert b"hunter2" not in (tmp_path / "jobs.db").read_bytes()
