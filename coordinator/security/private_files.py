"""Files that only the service's own user reads."""

from __future__ import annotations

import os
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
