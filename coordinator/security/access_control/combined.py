"""Several access controls at once: what one refuses is refused, what one hides is hidden. Source: Trino's manager."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from shared.errors import ErrorCode, ProcessionError
from shared.spi.access_control import Identity, SystemAccessControl, ViewExpression
from shared.spi.accesses import Access, TableName


class Combined:
    """Asks each in its order; row filters of all count, and a column may be masked by one alone."""

    def __init__(self, controls: Sequence[SystemAccessControl]) -> None:
        self._controls = tuple(controls)

    @property
    def rules_version(self) -> str | None:
        versions = [control.rules_version for control in self._controls]
        return None if None in versions else "+".join(map(str, versions))

    def check_can_set_user(self, principal: str | None, user: str) -> None:
        self._each(lambda control: control.check_can_set_user(principal, user))

    def check_can_impersonate_user(self, identity: Identity, user: str) -> None:
        self._each(lambda control: control.check_can_impersonate_user(identity, user))

    def check_can_execute_query(self, identity: Identity) -> None:
        self._each(lambda control: control.check_can_execute_query(identity))

    def check_can_view_query_owned_by(self, identity: Identity, owner: Identity) -> None:
        self._each(lambda control: control.check_can_view_query_owned_by(identity, owner))

    def check_can_kill_query_owned_by(self, identity: Identity, owner: Identity) -> None:
        self._each(lambda control: control.check_can_kill_query_owned_by(identity, owner))

    def check_can_read_system_information(self, identity: Identity) -> None:
        self._each(lambda control: control.check_can_read_system_information(identity))

    def check_can_write_system_information(self, identity: Identity) -> None:
        self._each(lambda control: control.check_can_write_system_information(identity))

    def check_can_set_system_session_property(self, identity: Identity, name: str) -> None:
        self._each(lambda control: control.check_can_set_system_session_property(identity, name))

    def check_can_set_catalog_session_property(self, identity: Identity, catalog: str, name: str) -> None:
        self._each(lambda control: control.check_can_set_catalog_session_property(identity, catalog, name))

    def check_can_access_catalog(self, identity: Identity, catalog: str, *, changes: bool) -> None:
        self._each(lambda control: control.check_can_access_catalog(identity, catalog, changes=changes))

    def check_access(self, identity: Identity, access: Access) -> None:
        self._each(lambda control: control.check_access(identity, access))

    def filter_catalogs(self, identity: Identity, catalogs: Collection[str]) -> frozenset[str]:
        left = frozenset(catalogs)
        for control in self._controls:
            left = control.filter_catalogs(identity, left)
        return left

    def filter_schemas(self, identity: Identity, catalog: str, schemas: Collection[str]) -> frozenset[str]:
        left = frozenset(schemas)
        for control in self._controls:
            left = control.filter_schemas(identity, catalog, left)
        return left

    def filter_tables(
        self, identity: Identity, catalog: str, tables: Collection[tuple[str, str]]
    ) -> frozenset[tuple[str, str]]:
        left = frozenset(tables)
        for control in self._controls:
            left = control.filter_tables(identity, catalog, left)
        return left

    def filter_columns(self, identity: Identity, table: TableName, columns: Collection[str]) -> frozenset[str]:
        left = frozenset(columns)
        for control in self._controls:
            left = control.filter_columns(identity, table, left)
        return left

    def row_filters(self, identity: Identity, table: TableName) -> Sequence[ViewExpression]:
        return tuple(each for control in self._controls for each in control.row_filters(identity, table))

    def column_masks(
        self, identity: Identity, table: TableName, columns: Collection[str]
    ) -> Mapping[str, ViewExpression]:
        return merged_masks(self._controls, identity, table, columns)

    def _each(self, check: Callable[[SystemAccessControl], None]) -> None:
        for control in self._controls:
            check(control)


def merged_masks(
    controls: Sequence[SystemAccessControl], identity: Identity, table: TableName, columns: Collection[str]
) -> Mapping[str, ViewExpression]:
    """Raises ProcessionError where two controls mask one column."""
    found: dict[str, ViewExpression] = {}
    for control in controls:
        for column, mask in control.column_masks(identity, table, columns).items():
            if column in found:
                raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Multiple masks defined for {table}.{column}")
            found[column] = mask
    return found
