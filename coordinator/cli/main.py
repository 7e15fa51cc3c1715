"""Commands of ``procession``. Rooms are imported by the command that needs them, so that each starts fast."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from coordinator.cli.output import OutputFormat

app = typer.Typer(
    name="procession",
    help="A SQL coordinator for Iceberg lakes. It speaks Presto's client protocol, checks plans with Velox and runs "
    "them on Spark or DuckDB.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Etc = Annotated[Path, typer.Option("--etc", help="Configuration directory, laid out like Presto's.")]
Port = Annotated[
    int | None,
    typer.Option("--port", help="HTTP port instead of http-server.http.port; 0 takes a free one.", min=0, max=65535),
]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Data directory instead of node.data-dir.")]
SidecarUrl = Annotated[
    str | None, typer.Option("--sidecar", help="Address of a sidecar that runs already, such as http://host:7778.")
]


@contextmanager
def _importing() -> Iterator[None]:
    """What is imported stays: looking for garbage meanwhile would take a fifth of the start's CPU time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@app.command()
def up(etc: Etc = Path("etc"), port: Port = None, data_dir: DataDir = None, sidecar: SidecarUrl = None) -> None:
    """Serve everything on this machine (sidecar, coordinator and embedded Spark) until Ctrl-C."""
    with _importing():
        from coordinator.app import Overrides
        from coordinator.cli.up import up as run

    _leave(run(etc, Overrides(port, sidecar, data_dir), _tell))


@app.command()
def coordinator(
    etc: Etc = Path("etc"), port: Port = None, data_dir: DataDir = None, sidecar: SidecarUrl = None
) -> None:
    """Serve the coordinator without a sidecar. It starts Spark as a child unless spark.remote is set."""
    with _importing():
        from coordinator.app import Overrides, serve

    _leave(serve(etc, Overrides(port, sidecar, data_dir), _tell))


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
    etc: Etc = Path("etc"),
    port: Port = None,
    data_dir: DataDir = None,
    fix: Annotated[bool, typer.Option("--fix", help="Download the jars that are missing.")] = False,
) -> None:
    """Check this machine and the configuration, and print how to mend what is missing or wrong."""
    from coordinator.cli.doctor import doctor as run

    raise typer.Exit(run(etc, port, data_dir, fix=fix))


@app.command()
def sql(
    execute: Annotated[str | None, typer.Option("--execute", "-e", help="Run these statements and leave.")] = None,
    server: Annotated[str, typer.Option("--server", help="Address of the coordinator.")] = "http://127.0.0.1:8080",
    catalog: Annotated[str | None, typer.Option("--catalog", help="Catalog for table names without one.")] = None,
    schema: Annotated[str | None, typer.Option("--schema", help="Schema for table names without one.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="User of the session; by default your login name.")] = None,
    output_format: Annotated[
        OutputFormat, typer.Option("--output-format", help="Form of the rows.")
    ] = OutputFormat.TABLE,
    password: Annotated[
        bool, typer.Option("--password", help="Log in with a password: PROCESSION_PASSWORD, or the one you type.")
    ] = False,
    access_token: Annotated[
        str | None,
        typer.Option("--access-token", envvar="PROCESSION_ACCESS_TOKEN", help="Log in with a JSON web token."),
    ] = None,
    truststore: Annotated[
        Path | None, typer.Option("--truststore-path", help="PEM file with further certificate authorities to trust.")
    ] = None,
) -> None:
    """Run statements from --execute or standard input, or open a prompt."""
    import getpass
    import os

    from coordinator.cli.client import ClientSession, Login
    from coordinator.cli.sql import sql as run

    session = ClientSession(user or getpass.getuser(), catalog, schema)
    word = (os.environ.get("PROCESSION_PASSWORD") or getpass.getpass()) if password else None
    raise typer.Exit(run(server, session, execute, output_format, Login(word, access_token, truststore)))


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
