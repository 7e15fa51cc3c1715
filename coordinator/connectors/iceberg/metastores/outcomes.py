"""Whether a commit landed that the catalog did not answer clearly."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from shared.errors import ProcessionError

_LOOK_AGAIN_SECONDS = (0.0, 0.5, 2.0)


def landed(load: Callable[[], Table], location: str) -> bool | None:
    """Whether the table is at the metadata file or has been since; None when the catalog cannot be asked."""
    for wait in _LOOK_AGAIN_SECONDS:
        time.sleep(wait)
        try:
            table = load()
        except (NoSuchTableError, ProcessionError):  # there is none, or another kind of table
            return False
        except Exception:  # noqa: S112 - whatever keeps it from being asked, the answer is the same: nobody knows
            continue
        return table.metadata_location == location or any(
            entry.metadata_file == location for entry in table.metadata.metadata_log
        )
    return None
