"""The type of a statement that is not planned yet: which CALLs the executors take part in."""

from __future__ import annotations

import pytest

from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.resource_groups.query_type import query_type_of
from shared.spi.session import Session

DISTRIBUTED = frozenset(("rewrite_data_files", "auto_maintain"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CALL iceberg.system.rewrite_data_files('db', 't')", "CALL_DISTRIBUTED_PROCEDURE"),
        ("-- nightly\ncall auto_maintain (table => 'db.t')", "CALL_DISTRIBUTED_PROCEDURE"),
        ('CALL "Lake" . "SYSTEM"."Auto_Maintain"/* x */(1)', "CALL_DISTRIBUTED_PROCEDURE"),
        ("ALTER TABLE a.b.t EXECUTE optimize(file_size_threshold => '10MB')", "CALL_DISTRIBUTED_PROCEDURE"),
        ("ALTER TABLE t EXECUTE optimize WHERE p = 1", "CALL_DISTRIBUTED_PROCEDURE"),
        ("EXECUTE nightly", "CALL_DISTRIBUTED_PROCEDURE"),
        ("CALL iceberg.system.rollback_to_snapshot('db', 'rewrite_data_files', 1)", "DATA_DEFINITION"),
        ("CALL iceberg.auto_maintain.other()", "DATA_DEFINITION"),
        ("ALTER TABLE t RENAME TO optimize", "DATA_DEFINITION"),
        ("CALL", "DATA_DEFINITION"),
    ],
)
def test_calls_of_distributed_procedures(text: str, kind: str) -> None:
    session = Session(user="u", prepared_statements={"nightly": "CALL auto_maintain(?)"})
    assert query_type_of(text, session, DISTRIBUTED) == kind
    assert query_type_of(text, session) == "DATA_DEFINITION"


def test_which_procedures_are_distributed() -> None:
    """Known without a connection to any catalog."""
    assert Catalogs([]).distributed_procedures() == {"clean_data_cache"}
    assert Catalogs([CatalogConfig("lake", "iceberg", {})]).distributed_procedures() == {
        *("clean_data_cache", "rewrite_data_files", "rewrite_position_delete_files", "convert_equality_deletes"),
        *("compute_table_stats", "auto_maintain", "copy_to_table"),
    }


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CALL{0}auto_maintain{0}(1)", "CALL_DISTRIBUTED_PROCEDURE"),
        ("CALL{0}lake{0}.{0}system{0}.{0}auto_maintain{0}", "DATA_DEFINITION"),
        ("{0}({0}SELECT{0}1", "SELECT"),
        ("{0}1", None),
        ("ALTER{0}TABLE t{0}EXECUTE{0}1", "DATA_DEFINITION"),
    ],
)
def test_comments_are_read_once(text: str, kind: str | None) -> None:
    """Seen: 16 comments before a name and as many behind it held the event loop for minutes."""
    assert query_type_of(text.format("/**/" * 200), Session(user="u"), DISTRIBUTED) == kind
    assert query_type_of(text.format("/* -- */ --/*\n" * 50), Session(user="u"), DISTRIBUTED) == kind
