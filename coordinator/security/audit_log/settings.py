"""Properties of etc/config.properties for the audit log."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from coordinator.values.settings import Bytes, Settings


class AuditSettings(Settings):
    """Properties of etc/config.properties."""

    enabled: bool = Field(
        False,
        alias="audit-log.enabled",
        description="Write who did what on what, allowed or denied, into a file of its own (docs/audit.md).",
    )
    file: Path = Field(
        Path("logs/audit.jsonl"),
        alias="audit-log.file",
        description="Where the lines go; a relative path starts in `node.data-dir`. Only its owner can read it.",
    )
    max_size: Bytes = Field(
        64 << 20,
        alias="audit-log.max-size",
        ge=4096,
        description="A file that has become longer is set aside under its name and the time, and a new one is begun.",
    )
    max_files: int = Field(
        0,
        alias="audit-log.max-files",
        ge=0,
        description="How many files that were set aside are kept; 0 keeps all.",
    )
    sync: Literal["never", "second", "always"] = Field(
        "second",
        alias="audit-log.sync",
        description="When lines are forced to the disk: when the system likes, within a second, or before the statement"
        " goes on (`always`, with `audit-log.required`).",
    )
    required: bool = Field(
        False,
        alias="audit-log.required",
        description="Whether a statement waits until its line is written, and is refused when it cannot be.",
    )
    max_query_length: int = Field(
        10_000,
        alias="audit-log.max-query-length",
        ge=0,
        description="Characters of a statement's text in its line; 0 leaves the text out.",
    )
    digests: bool = Field(
        False,
        alias="audit-log.digests",
        description="Whether each line has a digest over itself and the line before it, by which `procession"
        " audit` finds lines that were changed, removed or added.",
    )
    digest_key_file: Path | None = Field(
        None,
        alias="audit-log.digest-key-file",
        description="A file with a key of 16 bytes at least, without which nobody can make digests (HMAC); read at the"
        " start. Without it digests are told apart by what is known of them elsewhere.",
    )
