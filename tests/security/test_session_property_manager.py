"""Session properties that the configuration gives, as defaults and over the client's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from coordinator.dispatch.access import admitted
from coordinator.planning.session_statements import PROPERTIES
from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.session_property_manager import SessionPropertyManager, load_session_properties
from coordinator.vocabulary.session_properties import session_value
from shared.properties import ConfigurationError
from shared.spi.access_control import AccessDeniedError, Identity
from shared.spi.session import Session


def manager(etc: Path, *rules: dict[str, Any]) -> SessionPropertyManager:
    (etc / "session-property-config.properties").write_text(
        "session-property-config.configuration-manager=file\nsession-property-manager.config-file=rules.json\n"
    )
    (etc / "rules.json").write_text(json.dumps(rules))
    return load_session_properties(etc, PROPERTIES)


def priority(value: int, **more: Any) -> dict[str, Any]:
    return {"sessionProperties": {"query_priority": str(value)}, **more}


def given(made: SessionPropertyManager, **options: Any) -> str:
    session = admitted(AllowAll(), Session(**{"user": "bob", **options}), ("c",), made)
    # As a query that is run again is.
    return session_value(admitted(AllowAll(), session, ("c",), made), "query_priority")


def test_defaults(tmp_path: Path) -> None:
    assert given(load_session_properties(tmp_path, PROPERTIES)) == "1"
    made = manager(
        tmp_path,
        priority(2),
        priority(3, user="al.*"),
        priority(4, source="cli", clientTags=["a", "b"]),
        priority(5, clientInfo="x"),
    )
    assert given(made) == "2"
    assert given(made, user="alice") == "3"
    assert given(made, user="malice") == "2"
    assert given(made, user="alice", source="cli", client_tags=("b", "a", "c")) == "4"
    assert given(made, source="cli", client_tags=("a",)) == "2"
    assert given(made, client_info="x") == "5"
    assert given(made, properties={"query_priority": "9"}) == "9"


class NoProperties(AllowAll):
    def check_can_set_system_session_property(self, identity: Identity, name: str) -> None:
        raise AccessDeniedError(f"Cannot set system session property {name}")


def test_what_is_given_needs_no_right(tmp_path: Path) -> None:
    made = manager(tmp_path, priority(2, overrideSessionProperties=True))
    session = admitted(NoProperties(), Session("bob"), ("c",), made)
    assert session.properties == {"query_priority": "2"}
    assert admitted(NoProperties(), session, ("c",), made).properties == session.properties
    with pytest.raises(AccessDeniedError):
        admitted(NoProperties(), Session("bob", properties={"query_priority": "7"}), ("c",), made)


def test_overrides(tmp_path: Path) -> None:
    made = manager(tmp_path, priority(2, user="bob", overrideSessionProperties=True), priority(3))
    assert given(made, properties={"query_priority": "9"}) == "3"  # once overridden, it stays so
    assert given(made, user="alice", properties={"query_priority": "9"}) == "9"


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"sessionProperties": {"nothing": "1"}}, "Unknown session property nothing"),
        ({"sessionProperties": {"query_priority": "x"}}, "query_priority"),
        ({"sessionProperties": {"time_zone_id": "Asia/Tokyo"}}, "time_zone_id is for clients to set"),
        ({"user": "("}, "not a valid regular expression"),
        ({"sessionProperties": {}, "queryType": "SELECT"}, "unknown field `queryType`"),
        ({}, "missing required field `sessionProperties`"),
    ],
)
def test_wrong_rules_stop_the_start(tmp_path: Path, rule: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        manager(tmp_path, rule)
