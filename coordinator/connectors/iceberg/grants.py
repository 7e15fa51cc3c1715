"""Roles and privileges in the database of an SQL catalog, beside the tables that it lists.

A number counts the changes, so that what was read once is read again when something changed, in whichever process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, assert_never

import sqlalchemy as sa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy.exc import DBAPIError

from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.granted_objects import GrantedObjects
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import (
    CatalogChange,
    MaterializedViewCreation,
    MaterializedViewRemoval,
    OwnerChange,
    SchemaCreation,
    SchemaRemoval,
    TableCreation,
    TableRemoval,
    TableRename,
    ViewCreation,
    ViewRemoval,
    ViewRename,
)
from shared.spi.grants import (
    ADMIN_ROLE,
    OWNERSHIP,
    PUBLIC_ROLE,
    Grants,
    Principal,
    PrivilegeGranting,
    PrivilegeRevoking,
    RoleChange,
    RoleCreation,
    RoleGrant,
    RoleGranting,
    RoleRemoval,
    RoleRevoking,
    TableGrant,
)

_METADATA = sa.MetaData()
_EVERYWHERE = (ADMIN_ROLE, PUBLIC_ROLE)


def _key(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(255), primary_key=True)


_VERSIONS = sa.Table(
    "procession_grant_versions", _METADATA, _key("catalog_name"), sa.Column("version", sa.BigInteger, nullable=False)
)
_ROLES = sa.Table("procession_roles", _METADATA, _key("catalog_name"), _key("role_name"))
_ROLE_GRANTS = sa.Table(
    "procession_role_grants",
    _METADATA,
    *map(_key, ("catalog_name", "role_name", "grantee_kind", "grantee")),
    sa.Column("grantable", sa.Boolean, nullable=False),
)
_TABLE_GRANTS = sa.Table(
    "procession_table_grants",
    _METADATA,
    *map(_key, ("catalog_name", "schema_name", "table_name", "privilege", "grantee_kind", "grantee")),
    sa.Column("grantable", sa.Boolean, nullable=False),
    sa.Column("grantor", sa.String(255), nullable=False),
    sa.Column("object_id", sa.String(64)),  # NULL in rows of versions that did not know it, until they are taken over
)


class SqlGrants:
    """Of one catalog; implements ``GrantStore``."""

    def __init__(
        self, catalog: str, admins: Sequence[str], client: Callable[[], Catalog], objects: GrantedObjects
    ) -> None:
        """``admins`` have the role of this name by configuration; ``client`` gives a catalog that a database keeps."""
        self._catalog, self._client, self._objects = catalog, client, objects
        self._always = tuple(RoleGrant(ADMIN_ROLE, Principal("USER", name), grantable=True) for name in admins)
        self._nothing = Grants(frozenset(_EVERYWHERE), self._always)
        self._made = False
        self._known: tuple[int, Grants] | None = None
        self._lock = threading.Lock()

    def read(self) -> Grants:
        with mapped(self._catalog), self._engine().connect() as connection:
            version = connection.execute(
                sa.select(_VERSIONS.c.version).where(_VERSIONS.c.catalog_name == self._catalog)
            ).scalar()
            known = self._known
            if known is not None and known[0] == version:
                return known[1]
            if version is None:
                return self._nothing
            # Read after the number, so that it may be too old and never too new.
            found, without_object = self._all(connection), self._without_object(connection)
        if without_object:
            return self.read() if self._take_over(without_object) else found
        self._known = (version, found)
        return found

    def object_id(self, schema: str, table: str) -> str | None:
        return self._objects.object_id(schema, table)

    def change(self, change: RoleChange) -> None:
        """Raises ProcessionError for what is there already, or is not there."""
        with mapped(self._catalog), self._engine().begin() as connection:
            self._count(connection)
            match change:
                case RoleCreation(role, admin):
                    self._create(connection, role, admin)
                case RoleRemoval(role):
                    self._drop(connection, role)
                case RoleGranting(roles, grantees, option):
                    for role, grantee in _pairs(roles, grantees):
                        self._grant_role(connection, RoleGrant(role, grantee, option))
                case RoleRevoking(roles, grantees, option):
                    for role, grantee in _pairs(roles, grantees):
                        where = {"role_name": role, **_grantee(grantee)}
                        self._take(connection, _ROLE_GRANTS, where, option_only=option)
                case PrivilegeGranting():
                    for privilege in change.privileges:
                        granted = TableGrant(
                            change.schema, change.table, privilege, change.grantee, change.grant_option, change.grantor,
                            change.object_id,
                        )  # fmt: skip
                        self._grant(connection, granted)
                case PrivilegeRevoking():
                    for privilege in change.privileges:
                        where = {**_of(change.schema, change.table), "privilege": privilege, **_grantee(change.grantee)}
                        self._take(connection, _TABLE_GRANTS, where, option_only=change.grant_option_only)
                case _:
                    assert_never(change)

    def follow(self, change: CatalogChange, user: str) -> None:
        """After a change of the catalog by ``user``: what was made is theirs, and what is gone is nobody's."""
        match change:
            case SchemaCreation(schema):
                self._owned(schema, "", user, keep=change.if_not_exists)
            case SchemaRemoval(schema):
                self._forget({"schema_name": schema})
            case TableCreation(schema, table):
                self._owned(schema, table, user, keep=change.if_not_exists or change.replaces)
            case ViewCreation(view, replace) | MaterializedViewCreation(view=view, replace=replace):
                self._owned(view.schema, view.name, user, keep=replace)
            case TableRemoval(schema, table) | ViewRemoval(schema, table) | MaterializedViewRemoval(schema, table):
                self._forget(_of(schema, table))
            case TableRename() | ViewRename():
                self._move(change)
            case OwnerChange():
                self._hand_over(change, user)
            case _:
                pass

    def forget(self, schema: str, table: str) -> None:
        """A table that is no more."""
        self._forget(_of(schema, table))

    def _owned(self, schema: str, table: str, user: str, *, keep: bool = False) -> None:
        object_id = self._objects.known_id(schema, table) or ""
        with mapped(self._catalog), self._engine().begin() as connection:
            where = [*self._mine(_TABLE_GRANTS), *_equal(_TABLE_GRANTS, _of(schema, table))]
            owners = connection.execute(
                sa.select(sa.func.count())
                .select_from(_TABLE_GRANTS)
                .where(*where, _TABLE_GRANTS.c.privilege == OWNERSHIP, _TABLE_GRANTS.c.object_id == object_id)
            ).scalar()
            if keep and owners:
                return
            self._count(connection)
            connection.execute(sa.delete(_TABLE_GRANTS).where(*where))
            owner = Principal("USER", user)
            self._grant(connection, TableGrant(schema, table, OWNERSHIP, owner, True, user, object_id))

    def _hand_over(self, change: OwnerChange, user: str) -> None:
        """Other privileges stay; those of the old owner went with owning it."""
        schema, table = change.schema, change.name
        object_id = change.object_id or self._objects.known_id(schema, table) or ""
        with mapped(self._catalog), self._engine().begin() as connection:
            self._count(connection)
            owners = {**_of(schema, table), "privilege": OWNERSHIP, "object_id": object_id}
            connection.execute(
                sa.delete(_TABLE_GRANTS).where(*self._mine(_TABLE_GRANTS), *_equal(_TABLE_GRANTS, owners))
            )
            self._grant(connection, TableGrant(schema, table, OWNERSHIP, change.owner, True, user, object_id))

    def _without_object(self, connection: sa.Connection) -> Sequence[tuple[str, str]]:
        columns = (_TABLE_GRANTS.c.schema_name, _TABLE_GRANTS.c.table_name)
        wanted = sa.select(*columns).distinct().where(*self._mine(_TABLE_GRANTS), _TABLE_GRANTS.c.object_id.is_(None))
        return [(row[0], row[1]) for row in connection.execute(wanted)]

    def _take_over(self, names: Sequence[tuple[str, str]]) -> bool:
        """Rows of an older version, once: they mean what has the name now. Whether all of them could be looked at."""
        found: dict[tuple[str, str], str | None] = {}
        for schema, table in names:
            with suppress(ProcessionError):  # they count for nothing until it can be read
                found[schema, table] = self._objects.known_id(schema, table)
        with mapped(self._catalog), self._engine().begin() as connection:
            self._count(connection)
            for (schema, table), object_id in found.items():
                mine = [
                    *self._mine(_TABLE_GRANTS),
                    *_equal(_TABLE_GRANTS, {"schema_name": schema, "table_name": table}),
                ]
                mine.append(_TABLE_GRANTS.c.object_id.is_(None))
                if object_id is None:
                    connection.execute(sa.delete(_TABLE_GRANTS).where(*mine))
                else:
                    connection.execute(sa.update(_TABLE_GRANTS).where(*mine).values(object_id=object_id))
        return len(found) == len(names)

    def _forget(self, where: dict[str, str]) -> None:
        with mapped(self._catalog), self._engine().begin() as connection:
            self._count(connection)
            connection.execute(
                sa.delete(_TABLE_GRANTS).where(*self._mine(_TABLE_GRANTS), *_equal(_TABLE_GRANTS, where))
            )

    def _move(self, change: TableRename | ViewRename) -> None:
        old, new = (
            (change.table, change.new_table) if isinstance(change, TableRename) else (change.view, change.new_view)
        )
        with mapped(self._catalog), self._engine().begin() as connection:
            self._count(connection)
            target = _of(change.new_schema, new)
            connection.execute(
                sa.delete(_TABLE_GRANTS).where(*self._mine(_TABLE_GRANTS), *_equal(_TABLE_GRANTS, target))
            )
            moved = sa.update(_TABLE_GRANTS).where(
                *self._mine(_TABLE_GRANTS), *_equal(_TABLE_GRANTS, _of(change.schema, old))
            )
            connection.execute(moved.values(**target))

    def _create(self, connection: sa.Connection, role: str, admin: Principal | None) -> None:
        if role in self._all(connection).roles:
            raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"Role '{role}' already exists")
        connection.execute(sa.insert(_ROLES).values(catalog_name=self._catalog, role_name=role))
        if admin is not None:
            self._grant_role(connection, RoleGrant(role, admin, grantable=True))

    def _drop(self, connection: sa.Connection, role: str) -> None:
        its_name = {"role_name": role}
        as_grantee = {"grantee_kind": "ROLE", "grantee": role}
        for table, where in (
            (_ROLES, its_name), (_ROLE_GRANTS, its_name), (_ROLE_GRANTS, as_grantee), (_TABLE_GRANTS, as_grantee),
        ):  # fmt: skip
            connection.execute(sa.delete(table).where(*self._mine(table), *_equal(table, where)))

    def _grant_role(self, connection: sa.Connection, grant: RoleGrant) -> None:
        self._refuse_cycle(self._all(connection).role_grants, grant)
        where = {"role_name": grant.role, **_grantee(grant.grantee)}
        self._put(connection, _ROLE_GRANTS, where, grantable=grant.grantable)

    @staticmethod
    def _refuse_cycle(grants: Sequence[RoleGrant], new: RoleGrant) -> None:
        above = {new.role}
        while True:
            more = {grant.role for grant in grants if grant.grantee.kind == "ROLE" and grant.grantee.name in above}
            if more <= above:
                break
            above |= more
        if new.grantee.kind == "ROLE" and new.grantee.name in above:
            message = f"Cannot grant role {new.role} to {new.grantee.name}: {new.role} has that role already"
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)

    def _grant(self, connection: sa.Connection, grant: TableGrant) -> None:
        where = {**_of(grant.schema, grant.table), "privilege": grant.privilege, **_grantee(grant.grantee)}
        of_another = _TABLE_GRANTS.c.object_id != grant.object_id
        stale = [*self._mine(_TABLE_GRANTS), *_equal(_TABLE_GRANTS, where), of_another]
        connection.execute(sa.delete(_TABLE_GRANTS).where(*stale))
        self._put(
            connection, _TABLE_GRANTS, where,
            grantable=grant.grantable, grantor=grant.grantor, object_id=grant.object_id,
        )  # fmt: skip

    def _put(self, connection: sa.Connection, table: sa.Table, where: dict[str, str], **values: object) -> None:
        """Once granted with the option, it stays with it."""
        mine = [*self._mine(table), *_equal(table, where)]
        there = connection.execute(sa.select(table.c.grantable).where(*mine)).scalar()
        if there is None:
            connection.execute(sa.insert(table).values(catalog_name=self._catalog, **where, **values))
        elif values["grantable"] and not there:
            connection.execute(sa.update(table).where(*mine).values(grantable=True))

    def _take(self, connection: sa.Connection, table: sa.Table, where: dict[str, str], *, option_only: bool) -> None:
        mine = [*self._mine(table), *_equal(table, where)]
        if option_only:
            connection.execute(sa.update(table).where(*mine).values(grantable=False))
        else:
            connection.execute(sa.delete(table).where(*mine))

    def _all(self, connection: sa.Connection) -> Grants:
        roles, role_grants, table_grants = (
            connection.execute(sa.select(table).where(*self._mine(table))).mappings().all()
            for table in (_ROLES, _ROLE_GRANTS, _TABLE_GRANTS)
        )
        return Grants(
            frozenset([*_EVERYWHERE, *(row["role_name"] for row in roles)]),
            (
                *self._always,
                *sorted(RoleGrant(row["role_name"], _principal(row), row["grantable"]) for row in role_grants),
            ),
            tuple(
                sorted(
                    TableGrant(
                        row["schema_name"], row["table_name"], row["privilege"], _principal(row), row["grantable"],
                        row["grantor"], row["object_id"] or "",
                    )
                    for row in table_grants
                )
            ),
        )  # fmt: skip

    def _count(self, connection: sa.Connection) -> None:
        """First in each change, so that changes wait for each other."""
        mine = _VERSIONS.c.catalog_name == self._catalog
        counted = connection.execute(sa.update(_VERSIONS).where(mine).values(version=_VERSIONS.c.version + 1))
        if counted.rowcount == 0:
            connection.execute(sa.insert(_VERSIONS).values(catalog_name=self._catalog, version=1))

    def _mine(self, table: sa.Table) -> list[sa.ColumnElement[bool]]:
        return [table.c.catalog_name == self._catalog]

    def _engine(self) -> sa.Engine:
        client = self._client()
        assert isinstance(client, SqlCatalog), "the catalog file was checked"
        with self._lock:
            if not self._made:
                try:
                    _METADATA.create_all(client.engine)
                except DBAPIError:  # another process makes them just now
                    _METADATA.create_all(client.engine)
                _add_missing_column(client.engine)
                self._made = True
        return client.engine


def _add_missing_column(engine: sa.Engine) -> None:
    """To a table that an older version made."""
    if _has_object_id(engine):
        return
    try:
        with engine.begin() as connection:
            connection.execute(sa.text("ALTER TABLE procession_table_grants ADD COLUMN object_id VARCHAR(64)"))
    except DBAPIError:  # another process adds it just now
        if not _has_object_id(engine):
            raise


def _has_object_id(engine: sa.Engine) -> bool:
    columns = sa.inspect(engine).get_columns(_TABLE_GRANTS.name)
    return any(column["name"] == "object_id" for column in columns)


def _pairs(roles: Sequence[str], grantees: Sequence[Principal]) -> list[tuple[str, Principal]]:
    return [(role, grantee) for role in roles for grantee in grantees]


def _grantee(principal: Principal) -> dict[str, str]:
    return {"grantee_kind": principal.kind, "grantee": principal.name}


def _of(schema: str, table: str) -> dict[str, str]:
    return {"schema_name": schema.lower(), "table_name": table.lower()}


def _principal(row: Any) -> Principal:
    return Principal(row["grantee_kind"], row["grantee"])


def _equal(table: sa.Table, values: dict[str, str]) -> list[sa.ColumnElement[bool]]:
    return [table.c[name] == value for name, value in values.items()]
