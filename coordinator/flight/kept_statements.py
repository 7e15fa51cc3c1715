"""What statements change of a session beyond options: roles, prepared statements and temporary functions.

They stand beside the options in the client's cookie, under names that no option can have. Over HTTP clients say the
same in headers, so a client that writes its cookie itself gains nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from coordinator.flight.failures import invalid
from coordinator.security.access_control.enabled_roles import is_selected_role
from coordinator.vocabulary.planned_statement import SessionChange
from shared.protocol.session_functions import decode_function, encode_function, encode_id
from shared.spi.session import Session

_ROLE, _PREPARED, _FUNCTION = "role:", "prepared:", "function:"


def is_kept(name: str) -> bool:
    """Whether it is no option, but one of these."""
    return name.startswith((_ROLE, _PREPARED, _FUNCTION))


def kept_after(kept: Mapping[str, str], change: SessionChange) -> dict[str, str] | None:
    """What is kept after a statement such as SET ROLE or PREPARE; None where it changes none of it."""
    gone = {f"{_PREPARED}{name}" for name in change.deallocated_prepare}
    gone |= {f"{_FUNCTION}{encode_id(each)}" for each in change.removed_functions}
    new = {f"{_ROLE}{catalog}": role for catalog, role in change.set_role.items()}
    new |= {f"{_PREPARED}{name}": text for name, text in change.added_prepare.items()}
    new |= {f"{_FUNCTION}{encode_id(each.id)}": encode_function(each) for each in change.added_functions}
    if not gone and not new:
        return None
    return {name: value for name, value in kept.items() if name not in gone} | new


def with_kept(session: Session, kept: Mapping[str, str]) -> Session:
    """The session with what is kept, before what headers say. Raises CallError for what no server of ours wrote."""
    roles = dict(_of(kept, _ROLE))
    if not all(map(is_selected_role, roles.values())):
        raise invalid("The cookie names a role that is none")
    try:
        functions = [decode_function(name, text) for name, text in _of(kept, _FUNCTION)]
    except ValueError as error:
        raise invalid(f"The cookie has a function that cannot be read: {error}") from error
    by_id = {each.id: each for each in (*session.functions, *functions)}
    return replace(
        session,
        roles={**session.roles, **roles},
        prepared_statements={**session.prepared_statements, **dict(_of(kept, _PREPARED))},
        functions=tuple(by_id.values()),
    )


def _of(kept: Mapping[str, str], kind: str) -> Iterator[tuple[str, str]]:
    return ((name.removeprefix(kind), value) for name, value in kept.items() if name.startswith(kind))
