"""A temporary SQL function: its client keeps it and sends it with every statement."""

from __future__ import annotations

from dataclasses import dataclass

NAMESPACE = "presto.session."
"""Before the names of temporary functions in Presto's function ids."""


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """``type`` is Presto type text."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class SessionFunction:
    """``body`` is ``RETURN expression``; ``null_on_null``: no value is computed where an argument is NULL."""

    name: str
    parameters: tuple[FunctionParameter, ...]
    result: str
    body: str
    comment: str = ""
    deterministic: bool = False
    null_on_null: bool = False

    @property
    def id(self) -> str:
        """Presto's function id, ``presto.session.name;type;type``: functions of one name differ by their types."""
        return ";".join((NAMESPACE + self.name, *(parameter.type for parameter in self.parameters)))
