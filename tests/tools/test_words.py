"""House words that the glossary replaced do not come back as names of parameters and variables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
GONE = {"told", "moment", "moments"}
_ANY = re.compile(r"\b(told|moments?)\b|\bkinds?: ")
TYPES = {"Type", "IcebergType", "DataType", "TypeEngine"}


def _bound(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names that are gone, and ``kind`` where its annotation says that it is a type."""
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))
    for node in (inside for function in functions for inside in ast.walk(function)):
        if isinstance(node, ast.arg):
            annotation = "" if node.annotation is None else ast.unparse(node.annotation)
            words = set(annotation.replace("[", " ").replace("]", " ").replace(".", " ").split())
            if node.arg in GONE or (node.arg in ("kind", "kinds") and words & TYPES):
                yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in GONE:
            yield node.lineno, node.id


def test_names_are_the_glossarys() -> None:
    found = []
    for room in ("coordinator", "sidecar", "shared"):
        for file in sorted((ROOT / room).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            text = file.read_text("utf-8")
            if _ANY.search(text):
                found += [f"{name}:{line} {word}" for line, word in _bound(ast.parse(text))]
    assert not found, "docs/glossary.md has other words: " + ", ".join(sorted(set(found)))
