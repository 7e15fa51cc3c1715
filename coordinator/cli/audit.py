"""``procession audit``: the digests of the audit log's lines, looked at apart from any service."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from coordinator.security.audit_log.digests import check_files, read_key
from shared.properties import ConfigurationError

_SHOWN = 100


def audit(files: Sequence[Path], key_file: Path | None, after: str | None) -> int:
    """The exit code: 0 when every digest is right, 1 when one is not, 2 when files cannot be read."""
    try:
        found = check_files(files, read_key(key_file), after)
    except OSError as error:
        typer.echo(f"procession: cannot read {error.filename}: {error.strerror}", err=True)
        return 2
    except ConfigurationError as error:
        typer.echo(f"procession: {_named(error)}", err=True)
        return 2
    for broken in found.broken[:_SHOWN]:
        typer.echo(f"{broken.file}:{broken.line}: this line {broken.problem}")
    if len(found.broken) > _SHOWN:
        typer.echo(f"... and {len(found.broken) - _SHOWN} more")
    said = "" if after is not None or not found.lines else " (what was before the first one is not known)"
    typer.echo(f"{found.lines} lines have the right digest{said}; the last is {found.last or 'none'}")
    return 1 if found.broken else 0


def _named(error: ConfigurationError) -> str:
    return str(error).replace("'audit-log.digest-key-file'", "--key-file")
