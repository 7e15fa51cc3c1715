"""How typer learns of ``procession sql``; what runs it is imported when it runs."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import typer
from typer.core import TyperCommand

from coordinator.cli.shell.config_file import ConfigFileError, config_file, read_defaults
from coordinator.cli.shell.options import Options


class ConfiguredCommand(TyperCommand):
    """Its options have the defaults of the user's configuration file."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """As of every command, once the file is read."""
        file = config_file(os.environ, Path.home())
        if file is not None:
            ctx.default_map = self._defaults(file)
        return super().parse_args(ctx, args)

    def _defaults(self, file: Path) -> dict[str, object]:
        named = {opt.lstrip("-"): p for p in self.params for opt in p.opts if opt.startswith("--")}
        switches = {name: bool(getattr(parameter, "is_flag", False)) for name, parameter in named.items()}
        repeated = [name for name, parameter in named.items() if getattr(parameter, "multiple", False)]
        try:
            found = read_defaults(file, switches, repeated)
        except ConfigFileError as error:
            sys.stderr.write(f"procession: {error}\n")
            raise typer.Exit(2) from error
        return {str(named[name].name): value for name, value in found.items()}


def command() -> Callable[..., None]:
    """A function whose parameters are the fields of Options."""

    def sql(**given: object) -> None:
        """Run statements from --execute, --file or standard input, or open a prompt."""
        from coordinator.cli.shell.command import run

        raise typer.Exit(run(Options(**given)))  # type: ignore[arg-type]

    hints = get_type_hints(Options, include_extras=True)
    # What few need comes last.
    fields = sorted(inspect.signature(Options).parameters.values(), key=lambda field: field.name.startswith("krb5_"))
    sql.__annotations__ = hints
    sql.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [field.replace(annotation=hints[field.name]) for field in fields]
    )
    return sql
