"""The options for Kerberos, by the names that presto-cli and trino-cli have for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

SWITCH = "--krb5-remote-service-name"
PATTERN = "${SERVICE}@${HOST}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KerberosOptions:
    """One field an option; the first switches Kerberos on."""

    krb5_remote_service_name: Annotated[
        str | None,
        typer.Option(SWITCH, help="Log in by Kerberos at the service of this name."),
    ] = None
    krb5_principal: Annotated[
        str | None,
        typer.Option("--krb5-principal", help="Principal to log in as; by default the one of the tickets."),
    ] = None
    krb5_keytab_path: Annotated[
        Path | None,
        typer.Option("--krb5-keytab-path", help="Keytab to log in with; by default the tickets of kinit."),
    ] = None
    krb5_credential_cache_path: Annotated[
        str | None,
        typer.Option("--krb5-credential-cache-path", help="Cache of tickets; by default the system's."),
    ] = None
    krb5_config_path: Annotated[
        Path | None,
        typer.Option("--krb5-config-path", help="A krb5.conf other than the system's."),
    ] = None
    krb5_service_principal_pattern: Annotated[
        str | None,
        typer.Option("--krb5-service-principal-pattern", help=f"Name of the service; by default {PATTERN}."),
    ] = None
    krb5_disable_remote_service_hostname_canonicalization: Annotated[
        bool,
        typer.Option(
            "--krb5-disable-remote-service-hostname-canonicalization", help="Take the name of the host as it is typed."
        ),
    ] = False
