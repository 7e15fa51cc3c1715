"""The options of ``procession sql``, by the names that presto-cli and trino-cli have for them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from coordinator.cli.shell.kerberos_options import KerberosOptions
from coordinator.cli.shell.output_format import OutputFormat

SERVER = "http://127.0.0.1:8080"


class EditingModeName(StrEnum):
    EMACS = "EMACS"
    VI = "VI"


class RedirectHandler(StrEnum):
    """Who shows the address of a login page."""

    ALL = "ALL"
    OPEN = "OPEN"
    PRINT = "PRINT"
    NONE = "NONE"


def _pairs(name: str, about: str) -> object:
    return typer.Option(name, metavar="NAME=VALUE", help=f"{about} (may be given several times).")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(KerberosOptions):
    """One field an option; typer reads the fields, so that nothing is said twice."""

    url: Annotated[
        str | None,
        typer.Argument(metavar="[URL]", help="Address, as in https://host:port/catalog/schema."),
    ] = None
    execute: Annotated[
        str | None,
        typer.Option("--execute", "-e", help="Run these statements and leave."),
    ] = None
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="Run the statements of this file and leave."),
    ] = None
    server: Annotated[
        str | None,
        typer.Option(
            "--server", envvar="PROCESSION_SERVER", help="Address of the coordinator (http://127.0.0.1:8080)."
        ),
    ] = None
    catalog: Annotated[
        str | None,
        typer.Option("--catalog", help="Catalog for table names without one."),
    ] = None
    schema: Annotated[
        str | None,
        typer.Option("--schema", help="Schema for table names without one."),
    ] = None
    user: Annotated[
        str | None,
        typer.Option("--user", help="User of the session; by default your login name."),
    ] = None
    session_user: Annotated[
        str | None,
        typer.Option("--session-user", help="User to impersonate; --user logs in."),
    ] = None
    password: Annotated[
        bool,
        typer.Option("--password", help="Log in with a password: PROCESSION_PASSWORD, or the one you type."),
    ] = False
    access_token: Annotated[
        str | None,
        typer.Option("--access-token", envvar="PROCESSION_ACCESS_TOKEN", help="Log in with a JSON web token."),
    ] = None
    external_authentication: Annotated[
        bool,
        typer.Option("--external-authentication", help="Log in with a browser (OAuth 2.0)."),
    ] = False
    redirect_handler: Annotated[
        RedirectHandler,
        typer.Option(
            "--external-authentication-redirect-handler", case_sensitive=False, help="Who shows the login page."
        ),
    ] = RedirectHandler.ALL
    truststore: Annotated[
        Path | None,
        typer.Option("--truststore-path", help="PEM file with further certificate authorities to trust."),
    ] = None
    truststore_password: Annotated[
        str | None,
        typer.Option("--truststore-password", help="Password of the trust store."),
    ] = None
    keystore: Annotated[
        Path | None,
        typer.Option("--keystore-path", help="Certificate with its key, in PEM or PKCS #12, to log in with."),
    ] = None
    keystore_password: Annotated[
        str | None,
        typer.Option("--keystore-password", help="Password of the key store."),
    ] = None
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Trust every server: for debugging only."),
    ] = False
    output_format: Annotated[
        OutputFormat,
        typer.Option("--output-format", case_sensitive=False, help="Form of rows without a prompt."),
    ] = OutputFormat.CSV
    output_format_interactive: Annotated[
        OutputFormat,
        typer.Option("--output-format-interactive", case_sensitive=False, help="Form of rows at the prompt."),
    ] = OutputFormat.ALIGNED
    ignore_errors: Annotated[
        bool,
        typer.Option("--ignore-errors", help="Go on after a statement that fails; the exit code stays 1."),
    ] = False
    progress: Annotated[
        bool | None,
        typer.Option("--progress/--no-progress", help="Show what a statement does, and its summary."),
    ] = None
    session: Annotated[
        list[str] | None,
        _pairs("--session", "Session property"),
    ] = None
    variable: Annotated[
        list[str] | None,
        _pairs("--variable", "Variable, used as :NAME"),
    ] = None
    resource_estimate: Annotated[
        list[str] | None,
        _pairs("--resource-estimate", "Resource estimate"),
    ] = None
    extra_credential: Annotated[
        list[str] | None,
        _pairs("--extra-credential", "Extra credential"),
    ] = None
    source: Annotated[
        str,
        typer.Option("--source", help="Name of the client, as resource groups and logs see it."),
    ] = "procession-sql"
    client_tags: Annotated[
        str | None,
        typer.Option("--client-tags", help="Tags, separated by commas."),
    ] = None
    client_info: Annotated[
        str | None,
        typer.Option("--client-info", help="Anything that queries shall be found by."),
    ] = None
    trace_token: Annotated[
        str | None,
        typer.Option("--trace-token", help="Token that the log names."),
    ] = None
    timezone: Annotated[
        str | None,
        typer.Option("--timezone", help="Time zone of the session; by default this machine's."),
    ] = None
    pager: Annotated[
        str | None,
        typer.Option(
            "--pager",
            envvar=["PROCESSION_PAGER", "TRINO_PAGER", "PRESTO_PAGER"],
            help="Program for results larger than the screen; empty for none.",
        ),
    ] = None
    history_file: Annotated[
        Path | None,
        typer.Option(
            "--history-file",
            envvar=["PROCESSION_HISTORY_FILE", "TRINO_HISTORY_FILE", "PRESTO_HISTORY_FILE"],
            help="Where the history is kept.",
        ),
    ] = None
    editing_mode: Annotated[
        EditingModeName,
        typer.Option("--editing-mode", case_sensitive=False, help="Keys of the prompt."),
    ] = EditingModeName.EMACS
    disable_auto_suggestion: Annotated[
        bool,
        typer.Option("--disable-auto-suggestion", help="Do not suggest statements of the history."),
    ] = False
    complete_while_typing: Annotated[
        bool,
        typer.Option("--complete-while-typing", help="Complete without Tab."),
    ] = False
    client_request_timeout: Annotated[
        str,
        typer.Option("--client-request-timeout", help="Longest wait for an answer."),
    ] = "2m"
    http_proxy: Annotated[
        str | None,
        typer.Option("--http-proxy", metavar="HOST:PORT", help="HTTP proxy."),
    ] = None
    socks_proxy: Annotated[
        str | None,
        typer.Option("--socks-proxy", metavar="HOST:PORT", help="SOCKS proxy (version 5)."),
    ] = None
    disable_compression: Annotated[
        bool,
        typer.Option("--disable-compression", help="Ask for uncompressed results."),
    ] = False
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Print the address of every query's page."),
    ] = False
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and leave."),
    ] = False
