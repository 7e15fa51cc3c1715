"""access-control.name=opa: an Open Policy Agent is asked about everything. Source: Trino's plugin of this name.

Nothing that it answers is kept: ``rules_version`` is None.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from coordinator.security.access_control.denials import denied
from coordinator.security.access_control.opa_actions import Action, action, action_of, catalog, schema, table
from coordinator.security.access_control.opa_client import OpaClient
from coordinator.security.access_control.opa_settings import OpaSettings
from coordinator.security.current_session import current_session
from shared.errors import ErrorCode, ProcessionError
from shared.spi.access_control import AccessDeniedError, Identity, ViewExpression
from shared.spi.accesses import Access, PermissionManagement, SchemaName, ShowRoles, TableName

T = TypeVar("T")
_RULE = "opa"


class OpaAccessControl:
    """Blocks while it asks, for as long as the settings let it."""

    def __init__(self, settings: OpaSettings) -> None:
        self._settings = settings
        self._client = OpaClient(
            settings.timeout, log_requests=settings.log_requests, log_responses=settings.log_responses
        )

    @property
    def rules_version(self) -> str | None:
        return None

    def check_can_set_user(self, principal: str | None, user: str) -> None: ...

    def check_can_impersonate_user(self, identity: Identity, user: str) -> None:
        problem = f"User {identity.user} cannot impersonate user {user}"
        self._check(identity, action("ImpersonateUser", {"user": {"user": user}}), problem)

    def check_can_execute_query(self, identity: Identity) -> None:
        self._check(identity, action("ExecuteQuery"), "Cannot execute query")

    def check_can_view_query_owned_by(self, identity: Identity, owner: Identity) -> None:
        self._check(identity, action("ViewQueryOwnedBy", _user(owner)), "Cannot view query")

    def check_can_kill_query_owned_by(self, identity: Identity, owner: Identity) -> None:
        self._check(identity, action("KillQueryOwnedBy", _user(owner)), "Cannot kill query")

    def check_can_read_system_information(self, identity: Identity) -> None:
        self._check(identity, action("ReadSystemInformation"), "Cannot read system information")

    def check_can_write_system_information(self, identity: Identity) -> None:
        self._check(identity, action("WriteSystemInformation"), "Cannot write system information")

    def check_can_set_system_session_property(self, identity: Identity, name: str) -> None:
        asked = action("SetSystemSessionProperty", {"systemSessionProperty": {"name": name}})
        self._check(identity, asked, f"Cannot set system session property {name}")

    def check_can_set_catalog_session_property(self, identity: Identity, catalog: str, name: str) -> None:
        resource = {"catalogSessionProperty": {"catalogName": catalog, "propertyName": name}}
        problem = f"Cannot set catalog session property {catalog}.{name}"
        self._check(identity, action("SetCatalogSessionProperty", resource), problem)

    def check_can_access_catalog(self, identity: Identity, catalog: str, *, changes: bool) -> None:  # noqa: ARG002
        """What is changed is asked by its own operation."""
        resource = {"catalog": {"name": catalog}}
        self._check(identity, action("AccessCatalog", resource), f"Cannot access catalog {catalog}")

    def check_access(self, identity: Identity, access: Access) -> None:
        if isinstance(access, PermissionManagement):
            if not (isinstance(access, ShowRoles) or self._settings.allow_permission_management):
                raise denied(access, _RULE)
            return  # as in Trino: nothing is asked of roles and grants
        if not self._allows(identity, action_of(access)):
            raise denied(access, _RULE, identity.user)

    def filter_catalogs(self, identity: Identity, catalogs: Collection[str]) -> frozenset[str]:
        return frozenset(self._filtered(identity, "FilterCatalogs", list(catalogs), catalog))

    def filter_schemas(self, identity: Identity, catalog: str, schemas: Collection[str]) -> frozenset[str]:
        return frozenset(
            self._filtered(identity, "FilterSchemas", list(schemas), lambda name: schema(SchemaName(catalog, name)))
        )

    def filter_tables(
        self, identity: Identity, catalog: str, tables: Collection[tuple[str, str]]
    ) -> frozenset[tuple[str, str]]:
        named = self._filtered(
            identity, "FilterTables", list(tables), lambda name: table(TableName(catalog, name[0], name[1]))
        )
        return frozenset(named)

    def filter_columns(self, identity: Identity, table: TableName, columns: Collection[str]) -> frozenset[str]:
        """In a batch it is one table with the columns, whose numbers are the answer."""
        known = list(columns)
        batched = self._settings.batched_uri
        if batched is None or not known:
            return frozenset(self._filtered(identity, "FilterColumns", known, lambda name: _table(table, (name,))))
        asked = action("FilterColumns", filterResources=[_table(table, tuple(known))])
        return frozenset(self._kept(batched, identity, asked, known))

    def row_filters(self, identity: Identity, table: TableName) -> Sequence[ViewExpression]:
        uri = self._settings.row_filters_uri
        if uri is None:
            return ()
        found = self._ask(uri, identity, action("GetRowFilters", _table(table)))
        if found is None:
            return ()
        if not isinstance(found, list):
            raise _unreadable()
        return tuple(_expression(each, table) for each in found)

    def column_masks(
        self, identity: Identity, table: TableName, columns: Collection[str]
    ) -> Mapping[str, ViewExpression]:
        settings, known = self._settings, columns if isinstance(columns, Mapping) else dict.fromkeys(columns)
        if settings.batch_column_masking_uri is not None and known:
            return self._batch_masks(settings.batch_column_masking_uri, identity, table, known)
        if settings.column_masking_uri is None:
            return {}
        found = {}
        for column, kind in known.items():
            mask = self._ask(
                settings.column_masking_uri, identity, action("GetColumnMask", _column(table, column, kind))
            )
            if mask is not None:
                found[column] = _expression(mask, table)
        return found

    def _batch_masks(
        self, uri: str, identity: Identity, table: TableName, columns: Mapping[str, str | None]
    ) -> Mapping[str, ViewExpression]:
        resources = [_column(table, column, kind) for column, kind in columns.items()]
        answer = self._ask(uri, identity, action("GetColumnMask", filterResources=resources))
        found = {}
        for each in answer or ():
            if not isinstance(each, dict) or not isinstance(each.get("index"), int):
                raise _unreadable()
            column = _at(list(columns), each["index"])
            found[column] = _expression(each.get("viewExpression"), table)
        return found

    def _filtered(
        self, identity: Identity, operation: str, known: Sequence[T], resource: Callable[[T], Mapping[str, object]]
    ) -> Sequence[T]:
        if not known:
            return ()
        batched = self._settings.batched_uri
        if batched is None:
            return [each for each in known if self._allows(identity, action(operation, resource(each)))]
        asked = action(operation, filterResources=[resource(each) for each in known])
        return self._kept(batched, identity, asked, known)

    def _kept(self, uri: str, identity: Identity, asked: Action, known: Sequence[T]) -> Sequence[T]:
        numbers = self._ask(uri, identity, asked)
        if numbers is not None and not isinstance(numbers, list):
            raise _unreadable()
        return [_at(known, number) for number in numbers or ()]

    def _check(self, identity: Identity, asked: Action, problem: str) -> None:
        if not self._allows(identity, asked):
            raise AccessDeniedError(problem, _RULE, str(asked["operation"]))

    def _allows(self, identity: Identity, asked: Action) -> bool:
        return self._ask(self._settings.policy_uri, identity, asked) is True

    def _ask(self, uri: str, identity: Identity, asked: Action) -> Any:
        session = current_session()
        query = {} if session is None or not session.query_id else {"queryId": session.query_id}
        context = {"identity": _identity(identity), **query, "softwareStack": {"trinoVersion": "procession"}}
        return self._client.ask(uri, {"context": context, "action": asked})


def _identity(identity: Identity) -> Mapping[str, object]:
    return {"user": identity.user, "groups": list(identity.groups)}


def _user(owner: Identity) -> Mapping[str, object]:
    return {"user": _identity(owner)}


def _table(name: TableName, columns: tuple[str, ...] | None = None) -> Mapping[str, object]:
    return table(name, columns)


def _column(name: TableName, column: str, kind: str | None) -> Mapping[str, object]:
    described = {"catalogName": name.catalog, "schemaName": name.schema, "tableName": name.table}
    typed = {} if kind is None else {"columnType": kind}
    return {"column": {**described, "columnName": column, **typed}}


def _at(known: Sequence[T], number: object) -> T:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(known):
        raise _unreadable()
    return known[number]


def _expression(answer: object, name: TableName) -> ViewExpression:
    text = answer.get("expression") if isinstance(answer, dict) else None
    user = answer.get("identity") if isinstance(answer, dict) else None
    if not isinstance(text, str) or not (user is None or isinstance(user, str)):
        raise _unreadable()
    return ViewExpression(text, user, name.catalog, name.schema)


def _unreadable() -> ProcessionError:
    return ProcessionError(
        ErrorCode.PERMISSION_DENIED, "Access Denied: the authorization server's answer is not understood"
    )
