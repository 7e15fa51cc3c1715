"""Options of presto-cli and trino-cli that the shell knows and has not: who types them is told why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import typer

_KERBEROS = (
    "the shell does not speak Kerberos: log in with --password, --access-token, --external-authentication or"
    " --keystore-path, or use presto-cli or trino-cli"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedOptions:
    """One field an option; none is shown by --help."""

    krb5_config_path: Annotated[str | None, typer.Option("--krb5-config-path", hidden=True)] = None
    krb5_credential_cache_path: Annotated[str | None, typer.Option("--krb5-credential-cache-path", hidden=True)] = None
    krb5_keytab_path: Annotated[str | None, typer.Option("--krb5-keytab-path", hidden=True)] = None
    krb5_principal: Annotated[str | None, typer.Option("--krb5-principal", hidden=True)] = None
    krb5_remote_service_name: Annotated[str | None, typer.Option("--krb5-remote-service-name", hidden=True)] = None
    krb5_service_principal_pattern: Annotated[
        str | None, typer.Option("--krb5-service-principal-pattern", hidden=True)
    ] = None
    krb5_disable_remote_service_hostname_canonicalization: Annotated[
        bool, typer.Option("--krb5-disable-remote-service-hostname-canonicalization", hidden=True)
    ] = False


def refusal(options: RefusedOptions) -> str | None:
    """Why an option that was given is not taken; None where none of them was."""
    given = [each.name for each in fields(RefusedOptions) if getattr(options, each.name)]
    return f"--{given[0].replace('_', '-')}: {_KERBEROS}" if given else None
