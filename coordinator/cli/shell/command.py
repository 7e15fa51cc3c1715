"""``procession sql`` as typer sees it: options in, exit code out."""

from __future__ import annotations

import getpass
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version as installed
from io import TextIOWrapper
from pathlib import Path

from coordinator.cli.client import (
    ClientSession,
    Connection,
    ServerUnreachableError,
    StatementClient,
)
from coordinator.cli.login import ExternalLogin, Login, open_browser, print_address
from coordinator.cli.shell import connecting
from coordinator.cli.shell.connecting import OptionError
from coordinator.cli.shell.kerberos_login import tickets
from coordinator.cli.shell.names import Names
from coordinator.cli.shell.options import SERVER, EditingModeName, Options, RedirectHandler
from coordinator.cli.shell.pager import pager_command
from coordinator.cli.shell.runner import UNREACHABLE, Display
from coordinator.cli.shell.shell import Shell
from coordinator.cli.tls import Store

_NAMES_SECONDS = 10.0
"""Nobody waits longer for what Tab offers."""


def run(options: Options) -> int:
    """0 when every statement succeeded, 1 when one failed, 2 when the server cannot be reached, 130 after Ctrl-C."""
    try:
        return _run(options)
    except (OptionError, ServerUnreachableError) as error:
        sys.stderr.write(f"procession: {error}\n")
        return UNREACHABLE
    except BrokenPipeError:
        # The reader of our output left, as `head` does; Python must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(options: Options) -> int:
    if options.version:
        sys.stdout.write(f"procession {installed('procession')}\n")
        return 0
    base, catalog, schema = connecting.address(options.url or options.server or SERVER)
    login, connection = _login(options), _connection(options)
    session = _session(options, login, catalog, schema)
    text = _text(options)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for what a terminal without UTF-8 cannot show

    def connect(source: str, connection: Connection = connection) -> StatementClient:
        return StatementClient(base, replace(session, source=source), login, connection)

    def connect_for_names() -> StatementClient:
        return connect(f"{options.source}-completion", replace(connection, timeout=_NAMES_SECONDS))

    with connect(options.source) as client:
        shell = Shell(
            client,
            _display(options, interactive=text is None),
            sys.stdout,
            connecting.pairs("--variable", options.variable or ()),
            ignore_errors=options.ignore_errors,
            editor=shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"),
        )
        try:
            if text is not None:
                return shell.run_all(text)
            return _prompt(shell, options, connect_for_names)
        finally:
            shell.close()


def _prompt(shell: Shell, options: Options, connect: Callable[[], StatementClient]) -> int:
    from coordinator.cli.shell.prompt import Prompt, prompt

    chosen = Prompt(
        options.history_file or _history_file(),
        vi=options.editing_mode is EditingModeName.VI,
        suggest=not options.disable_auto_suggestion,
        complete_while_typing=options.complete_while_typing,
    )
    return prompt(shell, Names(connect, lambda: tuple(shell.client.session.functions)), chosen)


def _session(options: Options, login: Login, catalog: str | None, schema: str | None) -> ClientSession:
    own = getpass.getuser if login.kerberos is None else login.kerberos.user
    return ClientSession(
        options.session_user or options.user or own(),
        options.catalog or catalog,
        options.schema or schema,
        options.source,
        properties=connecting.pairs("--session", options.session or ()),
        client_tags=options.client_tags,
        client_info=options.client_info,
        trace_token=options.trace_token,
        time_zone=options.timezone or connecting.local_time_zone(),
        resource_estimates=connecting.pairs("--resource-estimate", options.resource_estimate or ()),
        extra_credentials=connecting.pairs("--extra-credential", options.extra_credential or ()),
    )


def _login(options: Options) -> Login:
    kerberos = tickets(options)
    shows = print_address if options.redirect_handler is RedirectHandler.PRINT else open_browser
    trusted, shown = options.truststore, options.keystore
    return Login(
        password=connecting.password(options.password),
        token=options.access_token,
        trust=None if trusted is None else Store(trusted, options.truststore_password),
        keystore=None if shown is None else Store(shown, options.keystore_password),
        insecure=options.insecure,
        external=ExternalLogin(shows) if options.external_authentication else None,
        principal=options.user,
        kerberos=kerberos,
    )


def _connection(options: Options) -> Connection:
    seconds = connecting.seconds("--client-request-timeout", options.client_request_timeout)
    proxy = connecting.proxy(options.http_proxy, options.socks_proxy)
    return Connection(seconds, proxy, compression=not options.disable_compression)


def _display(options: Options, *, interactive: bool) -> Display:
    return Display(
        options.output_format_interactive if interactive else options.output_format,
        progress=interactive if options.progress is None else options.progress,
        interactive=interactive,
        debug=options.debug,
        pager=pager_command(options.pager, os.environ) if interactive else (),
    )


def _text(options: Options) -> str | None:
    """The statements, or None for a prompt."""
    if options.execute is not None and options.file is not None:
        raise OptionError("--execute and --file do not go together")
    if options.execute is not None:
        try:
            return os.fsencode(options.execute).decode()  # whatever the locale says of arguments
        except UnicodeError as error:
            raise OptionError("--execute is no text in UTF-8") from error
    try:
        if options.file is not None:
            return options.file.read_text("utf-8-sig")
        return None if sys.stdin.isatty() else sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{options.file or 'standard input'} cannot be read: {error}") from error


def _history_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "procession" / "history"
