"""Statement × privilege × allowed or denied, generated: from the kinds of statements and procedures that there are.

For each statement the accesses that it asks for are known; under rules that give exactly those it is planned, and under
rules that give all but one of them it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from coordinator.connectors.system.registered import all_procedures
from coordinator.planner.procedure_accesses import EFFECTS
from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.access_control.denials import denied
from coordinator.sql import statements as sql
from coordinator.sql.parse_statement import parse_statement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.access_control import AccessDeniedError, Identity
from shared.spi.accesses import Access
from tests.security.access.conftest import Ruled

STATEMENTS = """
SELECT id FROM people
SELECT count(*) FROM people
SELECT * FROM people WHERE salary > 1
SELECT p.id FROM people p JOIN others o ON p.id = o.id
SELECT id FROM people UNION ALL SELECT id FROM others
SELECT id FROM people WHERE id IN (SELECT id FROM others)
SELECT id FROM people FOR VERSION AS OF 'main'
SELECT id FROM v
SELECT id FROM w
SELECT * FROM "people$files"
SELECT * FROM "people$snapshots"
SELECT * FROM "people$changelog"
SELECT name FROM tpch.tiny.nation
SELECT * FROM information_schema.tables
SELECT * FROM system.jdbc.tables
TABLE people
VALUES 1
EXPLAIN SELECT id FROM people
EXPLAIN (TYPE IO) INSERT INTO people SELECT * FROM others
EXPLAIN ANALYZE SELECT id FROM people
EXPLAIN (TYPE VALIDATE) DROP TABLE people
EXECUTE p
EXECUTE IMMEDIATE 'DELETE FROM people'
PREPARE x FROM SELECT id FROM people
DEALLOCATE PREPARE p
CREATE TEMPORARY FUNCTION plus_one(x bigint) RETURNS bigint RETURN x + 1
DROP TEMPORARY FUNCTION IF EXISTS plus_one
DESCRIBE INPUT q
DESCRIBE OUTPUT p
SHOW CATALOGS
SHOW SCHEMAS
SHOW SCHEMAS FROM tpch
SHOW TABLES
SHOW TABLES FROM tpch.tiny
SHOW COLUMNS FROM people
SHOW SESSION
SHOW FUNCTIONS
SHOW CREATE TABLE people
SHOW CREATE VIEW v
SHOW CREATE SCHEMA db
SHOW STATS FOR people
SHOW STATS FOR (SELECT id FROM people)
USE tpch.tiny
SET SESSION query_priority = 1
RESET SESSION query_priority
START TRANSACTION
COMMIT
ROLLBACK
INSERT INTO people SELECT * FROM others
INSERT INTO people (id) VALUES 1
DELETE FROM people
DELETE FROM people WHERE salary = 1
DELETE FROM people WHERE id IN (SELECT id FROM others)
DELETE FROM "people$data"
UPDATE people SET name = 'x'
UPDATE people SET name = 'x', salary = salary + 1 WHERE id = 1
MERGE INTO people p USING others o ON p.id = o.id WHEN MATCHED THEN DELETE
MERGE INTO people p USING others o ON p.id = o.id WHEN MATCHED THEN UPDATE SET name = o.name
MERGE INTO people p USING others o ON p.id = o.id WHEN NOT MATCHED THEN INSERT (id) VALUES (o.id)
TRUNCATE TABLE people
CREATE CATALOG fresh USING tpch
ALTER CATALOG tpch SET PROPERTIES a = 'b'
DROP CATALOG tpch
CREATE SCHEMA made
DROP SCHEMA hidden
DROP SCHEMA db CASCADE
ALTER SCHEMA hidden RENAME TO other
ALTER SCHEMA hidden SET AUTHORIZATION carol
ALTER TABLE people SET AUTHORIZATION USER carol
ALTER VIEW v SET AUTHORIZATION bob
ALTER VIEW w SET AUTHORIZATION ROLE x
EXPLAIN ALTER TABLE people SET AUTHORIZATION USER carol
CREATE TABLE made (x bigint)
CREATE TABLE made (LIKE people)
CREATE TABLE made (LIKE people INCLUDING PROPERTIES)
CREATE TABLE made AS SELECT id FROM people
DROP TABLE people
ALTER TABLE people RENAME TO made
ALTER TABLE people ADD COLUMN x bigint
ALTER TABLE people DROP COLUMN name
ALTER TABLE people RENAME COLUMN name TO x
ALTER TABLE people ALTER COLUMN name DROP NOT NULL
ALTER TABLE people SET PROPERTIES (commit_retries = 3)
ALTER TABLE people EXECUTE optimize
ALTER TABLE people EXECUTE optimize WHERE id > 1
ALTER TABLE people EXECUTE expire_snapshots
CREATE VIEW made AS SELECT id FROM people
CREATE OR REPLACE VIEW v AS SELECT id FROM people
DROP VIEW v
ALTER VIEW v RENAME TO made
COMMENT ON TABLE people IS 'x'
COMMENT ON VIEW v IS 'x'
COMMENT ON COLUMN people.id IS 'x'
ANALYZE people
CALL lab.system.rewrite_data_files(schema => 'db', table_name => 'people', filter => 'id > 1')
GRANT SELECT ON people TO USER bob
GRANT ALL PRIVILEGES ON people TO ROLE x WITH GRANT OPTION
REVOKE SELECT, UPDATE ON people FROM USER bob
EXPLAIN GRANT SELECT ON people TO USER bob
CREATE ROLE x
DROP ROLE x
GRANT x TO USER bob
REVOKE x FROM ROLE y
SET ROLE x
SET ROLE NONE
SHOW ROLES
SHOW ROLES FROM tpch
SHOW CURRENT ROLES
SHOW ROLE GRANTS
SHOW GRANTS
SHOW GRANTS ON people
CREATE MATERIALIZED VIEW made AS SELECT id FROM people
CREATE MATERIALIZED VIEW made WITH (storage_table = 'kept') AS SELECT id FROM people WHERE salary > 1
REFRESH MATERIALIZED VIEW v
DROP MATERIALIZED VIEW IF EXISTS made
ALTER MATERIALIZED VIEW IF EXISTS made RENAME TO again
ALTER MATERIALIZED VIEW IF EXISTS made SET PROPERTIES (refresh_type = 'FULL')
SHOW CREATE MATERIALIZED VIEW v
ALTER FUNCTION f
""".strip().splitlines()
"""At least one of each kind of statement; what is not supported is refused all the same."""

ARGUMENTS = {
    "auto_maintain": "", "add_files": ", source_table => '`parquet`.`/x`'", "cherrypick_snapshot": ", snapshot_id => 1",
    "copy_to_table": ", new_table => 'made'", "create_branch": ", branch => 'b'", "create_tag": ", tag => 'b'",
    "create_savepoint": ", commit_time => 'x'", "delete_savepoint": ", instant_time => 'x'",
    "drop_branch": ", branch => 'b'", "drop_tag": ", tag => 'b'", "export_metadata": ", location => '/x'",
    "expire_partitions": ", older_than => TIMESTAMP '2020-01-01 00:00:00'",
    "fast_forward": ", branch => 'a', to => 'b'",
    "migrate": ", source_table => '`parquet`.`/x`'", "publish_changes": ", wap_id => 'x'",
    "register_table": ", metadata_location => '/x'", "replace_branch": ", branch => 'b', snapshot_id => 1",
    "replace_tag": ", tag => 'b', snapshot_id => 1",
    "rewrite_table_path": ", source_prefix => 'a', target_prefix => 'b'",
    "rollback_to_instant": ", instant_time => 'x'", "rollback_to_savepoint": ", instant_time => 'x'",
    "rollback_to_snapshot": ", snapshot_id => 1",
    "rollback_to_timestamp": ", timestamp => TIMESTAMP '2020-01-01 00:00:00'",
    "set_table_property": ", key => 'commit.retry.num-retries', value => '3'",
    "snapshot": ", source_table => '`parquet`.`/x`'",
}  # fmt: skip
PREPARED = {"p": "SELECT id FROM people WHERE salary > 1", "q": "SELECT id FROM people WHERE salary > ?"}


class Only(AllowAll):
    """Allows what it is told, and remembers what it was asked."""

    def __init__(self, allowed: frozenset[tuple[str, Access]] | None) -> None:
        self._allowed = allowed
        self.asked: list[tuple[str, Access]] = []

    def check_access(self, identity: Identity, access: Access) -> None:
        self.asked.append((identity.user, access))
        if self._allowed is not None and (identity.user, access) not in self._allowed:
            raise denied(access, "the matrix", identity.user)


@dataclass(frozen=True)
class Outcome:
    """Of one try."""

    error: ProcessionError | None
    asked: tuple[tuple[str, Access], ...]


def tried(ruled: Ruled, text: str, allowed: frozenset[tuple[str, Access]] | None) -> Outcome:
    control = Only(allowed)
    ruled.control(control)
    try:
        ruled.plan("bob", text, prepared_statements=PREPARED)
    except ProcessionError as error:
        return Outcome(error, tuple(control.asked))
    return Outcome(None, tuple(control.asked))


def calls(ruled: Ruled) -> Iterator[tuple[str, str]]:
    for catalog, procedure in all_procedures(ruled.catalogs):
        declaration = procedure.declaration
        if declaration.takes_table:
            given = ARGUMENTS.get(declaration.name, "")
            yield (
                declaration.name,
                f"CALL {catalog}.system.{declaration.name}('db', 'people')"
                if not given
                else (f"CALL {catalog}.system.{declaration.name}(schema => 'db', table_name => 'people'{given})"),
            )


def matrix(ruled: Ruled, text: str) -> int:
    """How many cases a statement made; each was right."""
    free = tried(ruled, text, None)
    assert not isinstance(free.error, AccessDeniedError), text
    needed = frozenset(free.asked)
    again = tried(ruled, text, needed)
    assert (str(again.error), again.asked) == (str(free.error), free.asked), text
    for left_out in sorted(needed, key=str):
        outcome = tried(ruled, text, needed - {left_out})
        assert isinstance(outcome.error, AccessDeniedError), (text, left_out)
        assert outcome.error.code is ErrorCode.PERMISSION_DENIED
        expected = denied(left_out[1], "the matrix", left_out[0]).message
        assert outcome.error.message == expected, text
    nothing = tried(ruled, text, frozenset())
    assert isinstance(nothing.error, AccessDeniedError) == bool(needed), text
    return 3 + len(needed)


def test_statements(ruled: Ruled) -> None:
    assert sum(matrix(ruled, text) for text in STATEMENTS) >= 300


def test_procedures(ruled: Ruled) -> None:
    cases = [(name, text, matrix(ruled, text)) for name, text in calls(ruled)]
    assert sum(count for _, _, count in cases) >= 200


def test_every_kind_of_statement_has_a_case() -> None:
    kinds = {type(parse_statement(text)) for text in STATEMENTS}
    assert set(get_args(sql.Statement)) <= kinds


def test_every_kind_of_access_is_asked(ruled: Ruled) -> None:
    texts = [*STATEMENTS, *(text for _, text in calls(ruled))]
    asked = {type(access) for text in texts for _, access in tried(ruled, text, None).asked}
    assert asked == set(get_args(Access))


def test_every_procedure_has_an_effect(ruled: Ruled) -> None:
    """What is not named counts as the worst, which nobody should have meant."""
    declared = {procedure.declaration.name for _, procedure in all_procedures(ruled.catalogs)}
    assert declared == EFFECTS.keys()


STATIC = re.compile(
    r"^(PREPARE|DEALLOCATE|(CREATE|DROP) TEMPORARY FUNCTION|"
    r"SHOW (CATALOGS|SESSION|FUNCTIONS|CURRENT ROLES|ROLE GRANTS|GRANTS)|"
    r"USE|SET|RESET|START|COMMIT|ROLLBACK|VALUES)"
)


def test_what_asks_nothing_is_known(ruled: Ruled) -> None:
    """A statement that names an object of a catalog asks for something."""
    silent = [text for text in STATEMENTS if not tried(ruled, text, None).asked]
    assert [text for text in silent if STATIC.match(text) is None] == ["ALTER FUNCTION f"]
