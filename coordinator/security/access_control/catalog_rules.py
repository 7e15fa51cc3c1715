"""Rules of one catalog as Presto and Trino write them (``iceberg.security=file``): without ``catalog``, as a catalog
is what they are of. Source: Presto's ``FileBasedAccessControl``.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import msgspec

from coordinator.security.access_control.object_rules import FunctionRule, ProcedureRule, SchemaRule, TableRule
from coordinator.security.access_control.rules import AuthorizationRule, CatalogPropertyRule, Rules, decoded
from coordinator.security.refreshed_file import read_text
from shared.properties import ConfigurationError

_SECTIONS = ("schemas", "tables", "functions", "procedures", "sessionProperties", "session_properties", "authorization")


class _File(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    schemas: tuple[SchemaRule, ...] | None = None
    tables: tuple[TableRule, ...] | None = None
    functions: tuple[FunctionRule, ...] | None = None
    procedures: tuple[ProcedureRule, ...] | None = None
    sessionProperties: tuple[CatalogPropertyRule, ...] | None = None
    session_properties: tuple[CatalogPropertyRule, ...] | None = None
    authorization: tuple[AuthorizationRule, ...] | None = None

    def __post_init__(self) -> None:
        if self.sessionProperties is not None and self.session_properties is not None:
            raise ValueError("sessionProperties and session_properties are the same; one of the two")


def read_catalog_rules(file: Path) -> Rules:
    """As rules of a system whose only catalog this is. Raises ConfigurationError."""
    text = read_text(file)
    try:
        content = msgspec.json.decode(text)
        _refuse_catalogs(content)
        found = msgspec.convert(content, _File, dec_hook=decoded)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ConfigurationError(f"{file}: {error}") from error
    properties = found.session_properties if found.sessionProperties is None else found.sessionProperties
    rules = Rules(
        schemas=found.schemas,
        tables=found.tables,
        functions=found.functions,
        procedures=found.procedures or (),  # as in Presto and Trino, nobody may call what no rule names
        catalog_session_properties=properties,
        authorization=found.authorization,
        of_catalog=True,
        version=blake2b(text.encode(), digest_size=12).hexdigest(),
    )
    if rules.name_roles:
        raise ConfigurationError(f"{file}: a rule names a role, and the catalog keeps none")
    return rules


def _refuse_catalogs(content: object) -> None:
    """The key is known to the rules of the system, whose types these are."""
    for section in _SECTIONS:
        rules = content.get(section) if isinstance(content, dict) else None
        for number, rule in enumerate(rules if isinstance(rules, list) else ()):
            if isinstance(rule, dict) and "catalog" in rule:
                raise ValueError(f"Object contains unknown field `catalog` - at `$.{section}[{number}]`")
