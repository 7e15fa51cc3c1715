"""Commands of ``procession``. Rooms are imported by the command that needs them, so that each starts fast."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from coordinator.cli.shell.declared import ConfiguredCommand, command

app = typer.Typer(
    name="procession",
    help="A SQL coordinator for Iceberg lakes. It speaks Presto's client protocol, checks plans with Velox and runs "
    "them on Spark or DuckDB.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Etc = Annotated[
    Path | None,
    typer.Option("--etc", help="Configuration directory, laid out like Presto's; by default etc, or the sample one."),
]
Port = Annotated[
    int | None,
    typer.Option("--port", help="HTTP port instead of http-server.http.port; 0 takes a free one.", min=0, max=65535),
]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Data directory instead of node.data-dir.")]
SidecarUrl = Annotated[
    str | None, typer.Option("--sidecar", help="Address of a sidecar that runs already, such as http://host:7778.")
]


User = Annotated[str | None, typer.Option("--user", help="User of the session; by default your login name.")]
Password = Annotated[
    bool, typer.Option("--password", help="Log in with a password: PROCESSION_PASSWORD, or the one you type.")
]
AccessToken = Annotated[
    str | None, typer.Option("--access-token", envvar="PROCESSION_ACCESS_TOKEN", help="Log in with a JSON web token.")
]
Truststore = Annotated[
    Path | None, typer.Option("--truststore-path", help="PEM file with further certificate authorities to trust.")
]


def _login_name() -> str:
    import getpass

    return getpass.getuser()


def _password(wanted: bool) -> str | None:
    import getpass
    import os

    return (os.environ.get("PROCESSION_PASSWORD") or getpass.getpass()) if wanted else None


def _default_etc() -> Path:
    """``etc`` here; where there is none, the sample that an installed package brings."""
    here, brought = Path("etc"), Path(__file__).parents[1] / "default_etc"
    if here.is_dir() or not brought.is_dir():
        return here
    typer.echo(f"procession: there is no directory etc here, so the sample in {brought} counts", err=True)
    return brought


@contextmanager
def importing() -> Iterator[None]:
    """What is imported stays: looking for garbage meanwhile would take a fifth of the start's CPU time."""
    from coordinator.values.machine import arrow_on_malloc

    gc.disable()
    try:
        with arrow_on_malloc():
            yield
    finally:
        gc.freeze()
        gc.enable()


@app.command()
def up(etc: Etc = None, port: Port = None, data_dir: DataDir = None, sidecar: SidecarUrl = None) -> None:
    """Serve everything on this machine (sidecar, coordinator and embedded Spark) until Ctrl-C."""
    with importing():
        from coordinator.app import Overrides
        from coordinator.cli.up import up as run

    _leave(run(etc or _default_etc(), Overrides(port, sidecar, data_dir), _tell))


@app.command()
def coordinator(etc: Etc = None, port: Port = None, data_dir: DataDir = None, sidecar: SidecarUrl = None) -> None:
    """Serve the coordinator without a sidecar. It starts Spark as a child unless spark.remote is set."""
    with importing():
        from coordinator.app import Overrides, serve

    _leave(serve(etc or _default_etc(), Overrides(port, sidecar, data_dir), _tell))


@app.command()
def demo(
    scale: Annotated[float, typer.Option("--scale", help="TPC-H scale factor; 1 is 6 million rows.", min=0.001)] = 0.1,
    files: Annotated[int, typer.Option("--files", help="Small files that the table has at first.", min=2)] = 240,
) -> None:
    """Start everything in a temporary directory, compact a table of TPC-H data, show what happened, and stop."""
    from rich.console import Console

    from coordinator.cli.demo import DemoOptions
    from coordinator.cli.demo import demo as run

    raise typer.Exit(run(DemoOptions(scale, files), Console()))


@app.command()
def doctor(
    etc: Etc = None,
    port: Port = None,
    data_dir: DataDir = None,
    fix: Annotated[bool, typer.Option("--fix", help="Download the jars that are missing.")] = False,
    server: Annotated[
        str | None, typer.Option("--server", help="Look at the service that runs at this address instead.")
    ] = None,
    user: User = None,
    password: Password = False,
    access_token: AccessToken = None,
    truststore: Truststore = None,
) -> None:
    """Check this machine and the configuration, or a service that runs, and print how to mend what is wrong."""
    from coordinator.cli.doctor import doctor as run
    from coordinator.cli.doctor import tell

    if server is None:
        raise typer.Exit(run(etc or _default_etc(), port, data_dir, fix=fix))
    from coordinator.cli.doctor_server import examine_server
    from coordinator.cli.login import Login

    login = Login(_password(password), access_token, truststore)
    raise typer.Exit(tell(list(examine_server(server, user or _login_name(), login))))


@app.command("audit")
def audit(
    files: Annotated[list[Path], typer.Argument(help="Files of the audit log, in the order in which they were begun.")],
    key_file: Annotated[Path | None, typer.Option("--key-file", help="The value of audit-log.digest-key-file.")] = None,
    after: Annotated[
        str | None, typer.Option("--after", help="The digest of the line before the first; empty: there was none.")
    ] = None,
) -> None:
    """Look whether lines of the audit log were changed, removed or added, by their digests (docs/audit.md)."""
    from coordinator.cli.audit import audit as run

    raise typer.Exit(run(files, key_file, after))


app.command("sql", cls=ConfiguredCommand)(command())


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def sidecar(context: typer.Context) -> None:
    """Serve the sidecar alone, which checks plan fragments with Velox. Its flags: procession sidecar --help."""
    import os
    import sys

    # Its own program: the coordinator never imports the sidecar.
    os.execv(sys.executable, [sys.executable, "-m", "sidecar", *context.args])  # noqa: S606


def _tell(address: str) -> None:
    typer.echo(f"procession listening on {address}")


def _leave(code: int) -> NoReturn:
    """End at once: everything with a life cycle is stopped by now.

    The interpreter's own end would abort the process (``FATAL: exception not rethrown``) when a thread is still inside
    DuckDB or gRPC.
    """
    import os
    import sys

    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    """Entry of the console script."""
    app()
