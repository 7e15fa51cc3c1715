"""What the shell uses of the package ``gssapi``, which need not be installed and has no types where it is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Literal, Protocol, cast


class GssError(Exception):
    """As ``gssapi.exceptions.GSSError``; ``min_code`` is of the mechanism, ``maj_code`` of GSS-API."""

    maj_code: int
    min_code: int

    def get_all_statuses(self, code: int, is_maj: bool) -> list[str]:
        raise NotImplementedError


class Errors(Protocol):
    """``gssapi.exceptions``"""

    GSSError: type[GssError]
    ExpiredCredentialsError: type[GssError]


class NameTypes(Protocol):
    kerberos_principal: object
    hostbased_service: object


class Flags(Protocol):
    mutual_authentication: object


class Mechanisms(Protocol):
    def from_int_seq(self, numbers: str) -> object: ...


class Held(Protocol):
    """Credentials; seconds until they end, None for never. Asked for them, those that have ended raise an error."""

    @property
    def name(self) -> object: ...

    @property
    def lifetime(self) -> int | None: ...


class Exchange(Protocol):
    """A login at a service: tokens in, tokens out."""

    @property
    def complete(self) -> bool: ...

    def step(self, token: bytes | None = None) -> bytes | None: ...


class GssApi(Protocol):
    """``gssapi``"""

    exceptions: Errors
    NameType: NameTypes
    RequirementFlag: Flags
    OID: Mechanisms

    def Name(self, base: str, name_type: object) -> object: ...  # noqa: N802 - its own names, here and below

    def Credentials(  # noqa: N802
        self, *, name: object | None, usage: Literal["initiate", "accept"], store: Mapping[str, str] | None
    ) -> Held: ...

    def SecurityContext(  # noqa: N802
        self, *, name: object, creds: Held, mech: object, usage: Literal["initiate"], flags: Sequence[object]
    ) -> Exchange: ...


def gss_api() -> GssApi:
    """Raises ImportError without the package, OSError without the libraries of the system that it needs."""
    return cast(GssApi, import_module("gssapi"))
