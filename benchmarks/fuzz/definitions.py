"""Statements that are no queries, most of them over tables that are there."""

from __future__ import annotations

from benchmarks.fuzz.calls import ODD
from benchmarks.fuzz.choices import Choices
from benchmarks.fuzz.expressions import Scope, expression
from benchmarks.fuzz.queries import Queries
from benchmarks.fuzz.tables import COLUMNS, SIZES, TABLES

NAMES = (
    '"a""b"',
    '"a;b"',
    '"a b"',
    '"a$b"',
    '"a${x}b"',
    '"%"',
    '"ä"',
    '"1"',
    '"select"',
    '"a.b"',
    '"\\"',
    "plain",
    '""',
)
PROPERTIES = (
    "format_version = 2",
    "format = 'PARQUET'",
    "format = 'ROW'",
    "partitioning = ARRAY['bucket(id, 4)']",
    "partitioning = ARRAY['day(ts)', 'truncate(s, 2)']",
    "partitioning = ARRAY['nope']",
    "partitioning = ARRAY['bucket(id, 0)']",
    "sorted_by = ARRAY['id']",
    "location = 'file:///nowhere'",
    "commit_retries = -1",
    '"write.target-file-size-bytes" = 1000',
    "metadata_previous_versions_max = 2",
    "nope = 1",
)
CALLS = (
    "rewrite_data_files(schema => '{s}', table_name => '{t}', filter => 'id > {n}', "
    "options => MAP(ARRAY['dry-run'], ARRAY['true']))",
    "expire_snapshots('{s}', '{t}', TIMESTAMP '2020-01-0{n} 00:00:00.000', {n})",
    "expire_snapshots(schema => '{s}', table_name => '{t}', retain_last => -{n})",
    "remove_orphan_files('{s}', '{t}', TIMESTAMP '2020-01-01 00:00:00.000')",
    "rewrite_manifests('{s}', '{t}')",
    "rollback_to_snapshot('{s}', '{t}', {n})",
    "rollback_to_timestamp('{s}', '{t}', TIMESTAMP '1970-01-01 00:00:00.000')",
    "set_current_snapshot('{s}', '{t}', {n})",
    "set_table_property('{s}', '{t}', 'write.metadata.previous-versions-max', '{n}')",
    "fast_forward('{s}', '{t}', 'main', 'b{n}')",
    "cherrypick_snapshot('{s}', '{t}', {n})",
    "register_table('{s}', 'r{n}', 'file:///nowhere/{n}')",
    "unregister_table('{s}', 'none_{n}')",
    "table_storage('{s}', '{t}')",
    "create_branch('{s}', '{t}', 'b{n}')",
    "help()",
    "nope({n})",
)


MADE = 6
"""Tables ``d0``, ``d1``, … that are there whenever statements begin."""


def made_again(number: int) -> str:
    """The statement that makes one of them, if it is not there."""
    return f"CREATE TABLE IF NOT EXISTS fuzz_made.d{number % MADE} (id bigint, s varchar, ts timestamp)"


class Definitions:
    """Writes them; tables are made in ``schema``, beside those that queries read."""

    def __init__(self, choices: Choices, schema: str) -> None:
        self._choices = choices
        self._schema = schema

    def statement(self) -> str:
        writers = (
            self._shown,
            self._explain,
            self._created,
            self._altered,
            self._called,
            self._view,
            self._described,
            self._hidden,
            self._session,
            self._dropped,
            self._prepared,
        )
        return self._choices.pick(writers)()

    def _name(self) -> str:
        """Mostly of a table that is made again and again."""
        if not self._choices.chance(15):
            return f"fuzz_made.d{self._choices.below(MADE)}"
        return f"fuzz_made.{self._choices.pick(NAMES)}"

    def _view_name(self) -> str:
        return f"fuzz_made.v{self._choices.below(3)}"

    def _table(self) -> str:
        return self._choices.pick(tuple(SIZES))

    def _type(self) -> str:
        return self._choices.pick((*(kind for _, kind, _ in COLUMNS), *ODD))

    def _query(self) -> str:
        return Queries(self._choices, TABLES).query(shared=False, depth=2).text.presto

    def _shown(self) -> str:
        texts = (
            f"SHOW COLUMNS FROM {self._table()}",
            f"SHOW CREATE TABLE {self._name()}",
            f"SHOW STATS FOR {self._table()}",
            f"SHOW STATS FOR ({self._query()})",
            "SHOW TABLES LIKE 'a%' ESCAPE '#'",
            "SHOW SCHEMAS FROM iceberg LIKE '%'",
            "SHOW FUNCTIONS LIKE '%a_'",
            "SHOW SESSION",
            f"SHOW CREATE VIEW {self._view_name()}",
            f"DESCRIBE {self._name()}",
        )
        return self._choices.pick(texts)

    def _explain(self) -> str:
        kinds = (
            "",
            "(TYPE LOGICAL)",
            "(TYPE DISTRIBUTED)",
            "(TYPE IO, FORMAT JSON)",
            "(TYPE VALIDATE)",
            "(TYPE NATIVE)",
        )
        kinds = (*kinds, "(FORMAT GRAPHVIZ)", "(TYPE DISTRIBUTED, FORMAT JSON)")
        about = self._choices.pick((self._query, self._created, self._called, self._changed))
        return f"EXPLAIN {self._choices.pick(kinds)} {about()}"

    def _changed(self) -> str:
        """Rows of a table changed: only explained, since Spark would run it."""
        table = self._choices.pick(TABLES)
        scope = Scope((), shared=False)
        where = expression(self._choices, scope, "boolean", 2).presto
        texts = (
            f"DELETE FROM {table.name} WHERE {where} OR id = 1",
            f"UPDATE {table.name} SET i = i + 1, s = upper(s) WHERE {where}",
            f"INSERT INTO {table.name} (id, s) {self._query()}",
            f"INSERT INTO {table.name} (id, s) VALUES (1, 'a'), (2, NULL)",
            f"MERGE INTO {table.name} t USING (VALUES (1, 'a')) v(k, n) ON t.id = v.k "
            f"WHEN MATCHED THEN UPDATE SET s = v.n WHEN NOT MATCHED THEN INSERT (id, s) VALUES (v.k, v.n)",
            f"CREATE TABLE {self._name()} AS {self._query()}",
        )
        return self._choices.pick(texts)

    def _created(self) -> str:
        columns = [f"{self._choices.pick((f'c{i}', *NAMES))} {self._type()}" for i in range(1 + self._choices.below(4))]
        if self._choices.chance(70):
            columns = ["id bigint", "s varchar", "ts timestamp", *columns]
        given = {self._choices.pick(PROPERTIES) for _ in range(self._choices.below(3))}
        words = f" WITH ({', '.join(sorted(given))})" if given else ""
        exists = "IF NOT EXISTS " if self._choices.chance(40) else ""
        return f"CREATE TABLE {exists}{self._name()} ({', '.join(columns)}){words}"

    def _altered(self) -> str:
        name, column = self._name(), self._choices.pick(("id", "c1", "s", *NAMES))
        texts = (
            f"ALTER TABLE {name} ADD COLUMN {column} {self._type()}",
            f"ALTER TABLE {name} DROP COLUMN {column}",
            f"ALTER TABLE {name} RENAME COLUMN {column} TO {self._choices.pick(('x', *NAMES))}",
            f"ALTER TABLE {name} RENAME TO {self._name()}",
            f"ALTER TABLE {name} SET PROPERTIES ({self._choices.pick(PROPERTIES)})",
            f"ALTER TABLE {name} DROP COLUMN IF EXISTS {column}",
            f"ALTER TABLE IF EXISTS {name} ADD COLUMN IF NOT EXISTS {column} {self._type()}",
            f"COMMENT ON TABLE {name} IS 'it''s'",
        )
        return self._choices.pick(texts)

    def _called(self) -> str:
        made = self._choices.chance(50)
        words = {
            "s": "fuzz_made" if made else self._schema,
            "t": f"d{self._choices.below(MADE)}" if made else self._table(),
        }
        return "CALL iceberg.system." + self._choices.pick(CALLS).format(n=self._choices.below(9), **words)

    def _view(self) -> str:
        replaced = "OR REPLACE " if self._choices.chance(60) else ""
        return f"CREATE {replaced}VIEW {self._view_name()} AS {self._query()}"

    def _dropped(self) -> str:
        exists = self._choices.pick(("", "IF EXISTS "))
        return f"DROP {self._choices.pick((f'TABLE {exists}{self._name()}', f'VIEW IF EXISTS {self._view_name()}'))}"

    def _described(self) -> str:
        return self._choices.pick((f"DESCRIBE {self._name()}", f"SELECT * FROM {self._name()}"))

    def _hidden(self) -> str:
        """Metadata tables, versions, branches."""
        kinds = ("snapshots", "history", "manifests", "files", "partitions", "refs", "properties", "nope", "")
        version = self._choices.pick(
            ("", " FOR VERSION AS OF 1", " FOR TIMESTAMP AS OF TIMESTAMP '2020-01-01 00:00:00'")
        )
        bare = f'SELECT count(*) FROM "{self._table()}${self._choices.pick(kinds)}"'
        deep = f"SELECT * FROM {self._table()}{version}"
        listing = "SELECT * FROM information_schema.columns WHERE table_name LIKE '%a' OR column_name = 'id'"
        return self._choices.pick(
            (bare, deep, listing, "SELECT * FROM system.jdbc.columns WHERE table_schem = 'fuzz_made'")
        )

    def _session(self) -> str:
        values = ("true", "'x'", "-1", "1e99", "'1s'", "NULL", "ARRAY[1]", "'9999999999999999999GB'")
        names = (
            "engine",
            "query_max_run_time",
            "join_distribution_type",
            "nope",
            "iceberg.nope",
            "hash_partition_count",
        )
        return f"SET SESSION {self._choices.pick(names)} = {self._choices.pick(values)}"

    def _prepared(self) -> str:
        query = self._query().replace("'", "''")
        mark = self._choices.pick(("?", "?, ?", "1"))
        texts = (
            f"EXECUTE IMMEDIATE 'SELECT {mark} FROM few WHERE id = ?' USING 1, 'a'",
            f"EXECUTE IMMEDIATE '{query}'",
            f"PREPARE p FROM {self._query()}",
            "EXECUTE IMMEDIATE 'SELECT i + ?, s FROM few WHERE id = ?' USING 2, BIGINT '1'",
        )
        return self._choices.pick(texts)
