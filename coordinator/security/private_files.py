"""Files that only the service's own user reads."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from shared.properties import ConfigurationError


def keep_files_private(data_dir: Path) -> None:
    """Make the data directory, for its owner alone; what this process and its children make is theirs alone too.

    Raises ConfigurationError for a directory that cannot be made, is a file, or belongs to somebody else.
    """
    os.umask(0o077)
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        data_dir.chmod(0o700)
    except OSError as error:
        raise ConfigurationError(f"node.data-dir {data_dir} cannot be used: {error.strerror}") from error


def written_by_strangers(path: Path) -> str | None:
    """Why a file of code cannot be trusted: another user than this process's or root owns it or may write it.

    Said of the file itself and of its directory, in which others could put another in its place; None when all is well.
    Groups are trusted: users whose files are their group's alone commonly let it write. Raises OSError for no file.
    """
    for each in (path.parent, path):
        status = each.stat()
        if status.st_uid not in (0, os.geteuid()):
            return f"{each} belongs to another user"
        if status.st_mode & stat.S_IWOTH:
            return f"every user of this machine can write {each}"
    return None
