"""allow-all, read-only, and what holds when nobody has said anything but who may connect."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from coordinator.security.access_control.denials import denied, only_reads
from shared.spi.access_control import AccessDeniedError, Identity, ViewExpression
from shared.spi.accesses import Access, CatalogManagement, TableName, catalog_of


class AllowAll:
    """Everybody may do everything."""

    @property
    def rules_version(self) -> str | None:
        return "built-in"

    def check_can_set_user(self, principal: str | None, user: str) -> None: ...

    def check_can_impersonate_user(self, identity: Identity, user: str) -> None: ...

    def check_can_execute_query(self, identity: Identity) -> None: ...

    def check_can_view_query_owned_by(self, identity: Identity, owner: Identity) -> None: ...

    def check_can_kill_query_owned_by(self, identity: Identity, owner: Identity) -> None: ...

    def check_can_read_system_information(self, identity: Identity) -> None: ...

    def check_can_write_system_information(self, identity: Identity) -> None: ...

    def check_can_set_system_session_property(self, identity: Identity, name: str) -> None: ...

    def check_can_set_catalog_session_property(self, identity: Identity, catalog: str, name: str) -> None: ...

    def check_can_access_catalog(self, identity: Identity, catalog: str, *, changes: bool) -> None: ...

    def filter_catalogs(self, identity: Identity, catalogs: Collection[str]) -> frozenset[str]:  # noqa: ARG002 - the SPI's
        return frozenset(catalogs)

    def check_access(self, identity: Identity, access: Access) -> None: ...

    def filter_schemas(self, identity: Identity, catalog: str, schemas: Collection[str]) -> frozenset[str]:  # noqa: ARG002
        return frozenset(schemas)

    def filter_tables(
        self,
        identity: Identity,  # noqa: ARG002
        catalog: str,  # noqa: ARG002
        tables: Collection[tuple[str, str]],
    ) -> frozenset[tuple[str, str]]:
        return frozenset(tables)

    def filter_columns(self, identity: Identity, table: TableName, columns: Collection[str]) -> frozenset[str]:  # noqa: ARG002
        return frozenset(columns)

    def row_filters(self, identity: Identity, table: TableName) -> Sequence[ViewExpression]:  # noqa: ARG002
        return ()

    def column_masks(
        self,
        identity: Identity,  # noqa: ARG002
        table: TableName,  # noqa: ARG002
        columns: Collection[str],  # noqa: ARG002
    ) -> Mapping[str, ViewExpression]:
        return {}


class OwnQueries(AllowAll):
    """With authentication and without rules: nobody acts as another, sees or ends another's queries, or the node."""

    def check_can_impersonate_user(self, identity: Identity, user: str) -> None:
        raise AccessDeniedError(f"Principal {identity.principal} cannot become user {user}")

    def check_can_view_query_owned_by(self, identity: Identity, owner: Identity) -> None:
        if identity.user != owner.user:
            raise AccessDeniedError("Cannot view query")

    def check_can_kill_query_owned_by(self, identity: Identity, owner: Identity) -> None:
        if identity.user != owner.user:
            raise AccessDeniedError("Cannot kill query")

    def check_can_write_system_information(self, identity: Identity) -> None:  # noqa: ARG002 - the SPI's
        raise AccessDeniedError("Cannot write system information")

    def check_access(self, identity: Identity, access: Access) -> None:  # noqa: ARG002
        """Who makes a catalog reads whatever the coordinator can read: nobody may unless rules say so."""
        if isinstance(access, CatalogManagement):
            raise denied(access, "no rules")


class ReadOnly(OwnQueries):
    """Catalogs are read; ``system``, which holds no data of users, is left alone."""

    def check_can_access_catalog(self, identity: Identity, catalog: str, *, changes: bool) -> None:  # noqa: ARG002
        if changes and catalog != "system":
            raise AccessDeniedError(f"Cannot access catalog {catalog}")

    def check_access(self, identity: Identity, access: Access) -> None:  # noqa: ARG002
        if catalog_of(access) != "system" and not only_reads(access):
            raise denied(access, "read-only")
