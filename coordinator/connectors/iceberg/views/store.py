"""Where a catalog keeps its views."""

from __future__ import annotations

from typing import Protocol

from pyiceberg.view.metadata import ViewMetadata as IcebergView

from shared.spi.connector import ViewMetadata


class ViewStore(Protocol):
    """Views of one catalog. Methods raise PyIceberg's and SQLAlchemy's errors, which callers map."""

    def names(self, schema: str) -> list[str]:
        """Sorted; empty for an unknown schema."""
        ...

    def load(self, schema: str, name: str) -> IcebergView | None: ...

    def create(self, view: ViewMetadata) -> None:
        """Raises ViewAlreadyExistsError, TableAlreadyExistsError or NoSuchNamespaceError."""
        ...

    def replace(self, view: ViewMetadata) -> None:
        """A new version of the view; raises NoSuchViewError or CommitFailedException."""
        ...

    def set_properties(self, view: ViewMetadata, was: IcebergView) -> None:
        """What is said of the view beside its versions, if it still is as ``was``.

        Raises NoSuchViewError or CommitFailedException.
        """
        ...

    def drop(self, schema: str, name: str) -> None:
        """Raises NoSuchViewError."""
        ...

    def rename(self, schema: str, name: str, new_schema: str, new_name: str) -> None:
        """Raises NoSuchViewError, NoSuchNamespaceError, ViewAlreadyExistsError or TableAlreadyExistsError."""
        ...
