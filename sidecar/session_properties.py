"""``/v1/properties/session``: what this service lets a session switch, in the shape that Presto's provider reads.

Presto C++ lists its worker's switches here. Ours runs nothing, so it names only those of its own.
"""

from __future__ import annotations

import msgspec


class SessionPropertyMetadata(msgspec.Struct, frozen=True):
    """One property; values travel as text."""

    name: str
    description: str
    typeSignature: str
    defaultValue: str
    hidden: bool = False


def session_properties(*, compile_check: bool) -> tuple[SessionPropertyMetadata, ...]:
    """The properties with this service's defaults."""
    return (
        SessionPropertyMetadata(
            "native_simplified_expression_evaluation_enabled",
            "Evaluate expressions the simple way; accepted for compatibility, has no effect on checking",
            "boolean",
            "false",
        ),
        SessionPropertyMetadata(
            "native_plan_compile_check_enabled",
            "Compile every converted fragment over empty inputs: functions, types, lambdas and windows",
            "boolean",
            str(compile_check).lower(),
        ),
        SessionPropertyMetadata(
            "native_max_plan_conversion_time",
            "Longest time that one fragment may take",
            "varchar",
            "10s",
            hidden=True,
        ),
    )
