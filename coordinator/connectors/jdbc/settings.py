"""``etc/catalog/<name>.properties`` of a JDBC catalog, with Presto's names, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from sqlalchemy.engine import URL

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.dialects.url import RemoteAddress
from shared.properties import Property

UnsupportedTypes = Literal["IGNORE", "CONVERT_TO_VARCHAR"]

_KNOWN = frozenset(
    {
        "connection-url",
        "connection-user",
        "connection-password",
        "connection-password-file",
        "driver-path",
        "jdbc.fetch-size",
        "jdbc.max-connections",
        "jdbc.connect-timeout-seconds",
        "jdbc.partitions",
        "jdbc.partition-columns",
        "unsupported-type-handling",
    }
)


@dataclass(frozen=True, slots=True)
class JdbcSettings:
    """A checked catalog file. ``jdbc_url`` is Spark's, ``url`` SQLAlchemy's; secrets are never shown by ``repr``.

    ``fetch_size`` is in rows. ``partition_columns`` are by ``schema.table``, where the primary key is not the choice;
    ``parameters`` are those of the JDBC URL.
    """

    catalog: str
    connector: str
    jdbc_url: str = field(repr=False)
    url: URL = field(repr=False)
    user: str | None
    password: str | None = field(repr=False)
    fetch_size: int = 10_000
    max_connections: int = 10
    connect_timeout_seconds: int = 10
    driver_path: str | None = None
    partitions: int = 4
    partition_columns: Mapping[str, str] = field(default_factory=dict)
    unsupported_types: UnsupportedTypes = "IGNORE"
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_settings(catalog: str, dialect: Dialect, properties: Mapping[str, Property]) -> JdbcSettings:
    """The settings of one catalog file; raises ConfigurationError naming file and line for a wrong entry."""
    for entry in properties.values():
        if entry.name not in _KNOWN:
            raise entry.unknown(_KNOWN)
    given = properties.get("connection-url")
    if given is None:
        raise (
            next(iter(properties.values())).error("connection-url is missing")
            if properties
            else ValueError(f"catalog {catalog}: connection-url is missing")
        )
    user = _text(properties, "connection-user")
    password = _password(properties)
    address = _address(given, dialect)
    return JdbcSettings(
        catalog=catalog,
        connector=dialect.name,
        jdbc_url=given.value,
        url=_url(given, address, dialect, user, password),
        parameters=address.parameters,
        user=user,
        password=password,
        fetch_size=_number(properties, "jdbc.fetch-size", 10_000, 1, 10_000_000),
        max_connections=_number(properties, "jdbc.max-connections", 10, 1, 1_000),
        connect_timeout_seconds=_number(properties, "jdbc.connect-timeout-seconds", 10, 1, 3_600),
        driver_path=_driver_path(properties),
        partitions=_number(properties, "jdbc.partitions", 4, 1, 1_000),
        partition_columns=_partition_columns(properties),
        unsupported_types=_unsupported_types(properties),
    )


_SECRET = ("password", "secret", "token", "pwd")


def _address(given: Property, dialect: Dialect) -> RemoteAddress:
    prefix = f"jdbc:{dialect.scheme}:"
    if not given.value.startswith(prefix):
        raise given.error(f"connection-url must begin with {prefix}")
    try:
        address = dialect.parse_url(given.value.removeprefix("jdbc:"))
        dialect.connect_arguments(1, address.parameters)
    except ValueError as error:
        raise given.error(f"connection-url {error}") from error
    secret = any(word in name.lower() for name in address.parameters for word in _SECRET)
    if address.has_credentials or secret or "user" in address.parameters:
        # Such a URL would be shown in Spark's UI and in error texts.
        raise given.error("credentials belong into connection-user and connection-password, not into connection-url")
    return address


def _url(given: Property, address: RemoteAddress, dialect: Dialect, user: str | None, password: str | None) -> URL:
    if not address.host:
        raise given.error("connection-url has no host")
    return URL.create(
        dialect.sqlalchemy_driver,
        username=user,
        password=password,
        host=address.host,
        port=address.port,
        database=address.database,
        query=dict(address.query),
    )


def _text(properties: Mapping[str, Property], name: str) -> str | None:
    entry = properties.get(name)
    return entry.value if entry is not None and entry.value else None


def _password(properties: Mapping[str, Property]) -> str | None:
    entry = properties.get("connection-password-file")
    if entry is None:
        return _text(properties, "connection-password")
    if "connection-password" in properties:
        raise entry.error("connection-password and connection-password-file cannot both be set")
    try:
        return Path(entry.value).read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise entry.error(f"connection-password-file cannot be read: {reason}") from error


def _number(properties: Mapping[str, Property], name: str, default: int, least: int, most: int) -> int:
    entry = properties.get(name)
    if entry is None:
        return default
    if not entry.value.isdigit() or not least <= int(entry.value) <= most:
        raise entry.error(f"{name} must be a number from {least} to {most}")
    return int(entry.value)


def _driver_path(properties: Mapping[str, Property]) -> str | None:
    entry = properties.get("driver-path")
    if entry is not None and not Path(entry.value).is_file():
        raise entry.error(f"driver-path {entry.value} is no file")
    return None if entry is None else entry.value


def _partition_columns(properties: Mapping[str, Property]) -> Mapping[str, str]:
    entry = properties.get("jdbc.partition-columns")
    chosen: dict[str, str] = {}
    for item in entry.value.split(",") if entry is not None and entry.value else ():
        table, colon, column = (part.strip() for part in item.partition(":"))
        if not (colon and column and table.count(".") == 1):
            assert entry is not None
            raise entry.error("jdbc.partition-columns must be a list of schema.table:column")
        chosen[table.lower()] = column
    return chosen


def _unsupported_types(properties: Mapping[str, Property]) -> UnsupportedTypes:
    entry = properties.get("unsupported-type-handling")
    if entry is None:
        return "IGNORE"
    value = entry.value.upper()
    if value not in ("IGNORE", "CONVERT_TO_VARCHAR"):
        raise entry.error("unsupported-type-handling must be IGNORE or CONVERT_TO_VARCHAR")
    return cast(UnsupportedTypes, value)
