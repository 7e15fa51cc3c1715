"""Calls of an Iceberg catalog and of its stores as spans of the statement that makes them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from coordinator.vocabulary.traced_calls import traced

_METHODS = (
    "list_namespaces",
    "load_namespace_properties",
    "create_namespace",
    "drop_namespace",
    "update_namespace_properties",
    "list_tables",
    "load_table",
    "create_table",
    "register_table",
    "commit_table",
    "rename_table",
    "drop_table",
    "purge_table",
)


def traced_catalog(catalog: Catalog) -> Catalog:
    """The same catalog, whose calls are noted; a commit has those that it makes itself below it."""
    for name in _METHODS:
        setattr(catalog, name, _noted(catalog, name, vars(catalog).get(name)))
    return catalog


def _noted(catalog: Catalog, name: str, own: Callable[..., object] | None) -> Callable[..., object]:
    """``own`` is what an earlier layer has put in the place of the class's method."""

    def call(*arguments: object, **named: object) -> object:
        method = own or partial(getattr(type(catalog), name), catalog)
        with traced(f"catalog.{name}", catalog=catalog.name, **_object(arguments[0] if arguments else None)):
            return method(*arguments, **named)

    return call


def _object(named: object) -> dict[str, str]:
    """What a call is about: a table, or an identifier."""
    if isinstance(named, Table):
        named = named.name()
    if isinstance(named, tuple):
        named = ".".join(map(str, named))
    return {"object": named} if isinstance(named, str) and named else {}


def store_call(what: str, location: str) -> AbstractContextManager[None]:
    """A file that is read, written or deleted in a block; by its name alone, as folders hold values of partitions."""
    return traced(f"store.{what}", file=location.rpartition("/")[2])
