"""Texts of users as databases take them: PostgreSQL has no NUL in its texts, and no database half a surrogate pair."""

from __future__ import annotations

from sqlalchemy import Engine, event

from shared.errors import encodable


def keep_storable(engine: Engine) -> None:
    """All texts that the engine is given from now on are made ``storable``.

    One that is not would fail its statement, and what is written with it: a user could hide what others did.
    """

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def _replace(
        _connection: object, _cursor: object, statement: str, parameters: object, _context: object, _many: bool
    ) -> tuple[str, object]:
        return statement, storable(parameters)


def storable(value: object) -> object:
    """Its texts, at any depth, with the symbol for NUL, and a question mark for half a surrogate pair."""
    match value:
        case str():
            return encodable(value.replace("\0", "\N{SYMBOL FOR NULL}"))
        case list():
            return [storable(each) for each in value]
        case tuple():
            return tuple(storable(each) for each in value)
        case dict():
            return {name: storable(each) for name, each in value.items()}
        case _:
            return value
