"""Bytes of texts and their digests in the embedded engine's words."""

from __future__ import annotations

from coordinator.unparser.vectorised.form import Asked, Form, Rule


def _of(base: str, text: str) -> Rule:
    """Of one argument of a type, which stands for ``{0}``."""

    def rule(asked: Asked) -> Form | None:
        return Form(text.format(*asked.arguments)) if asked.bases == [base] else None

    return rule


BINARY: dict[str, Rule] = {
    "to_utf8": _of("varchar", "encode({0})"), "to_hex": _of("varbinary", "hex({0})"),
    "to_base64": _of("varbinary", "to_base64({0})"), "md5": _of("varbinary", "unhex(md5({0}))"),
    "sha1": _of("varbinary", "unhex(sha1({0}))"), "sha256": _of("varbinary", "unhex(sha256({0}))"),
    "json_format": _of("json", "{0}"),
}  # fmt: skip
