"""Digests of the audit log find what was done to its lines; by hashlib alone, as an auditor would look."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coordinator.cli.main import app
from coordinator.security.audit_log.digests import check_files
from coordinator.security.audit_log.file import AuditFile
from coordinator.security.audit_log.settings import AuditSettings
from shared.properties import ConfigurationError

KEY = b"a key of the auditors"


def written(folder: Path, numbers: range, *, key: bytes = b"", digests: bool = True, max_size: int = 64 << 20) -> None:
    """One start of a coordinator, which writes these lines one by one."""
    if key:
        (folder / "key").write_bytes(key + b"\n")
    given = {"digests": digests, "digest_key_file": folder / "key" if key else None, "max_size": max_size}
    made = AuditFile(AuditSettings.model_validate({}).model_copy(update={"file": Path("audit.jsonl"), **given}), folder)
    made.start()
    for number in numbers:
        made.write(json.dumps({"n": number, "query": 'a","digest":"b'}).encode() + b"\n").result(60)
    made.close()


def files(folder: Path) -> list[Path]:
    return [*sorted(folder.glob("audit.jsonl.*Z")), folder / "audit.jsonl"]


def checked(folder: Path, *options: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["audit", *map(str, files(folder)), *options])
    return found.exit_code, found.output


@pytest.mark.parametrize("key", [b"", KEY])
def test_a_digest_is_over_the_line_and_the_digest_before(tmp_path: Path, key: bytes) -> None:
    written(tmp_path, range(3), key=key)
    before = ""
    for line in (tmp_path / "audit.jsonl").read_text().splitlines():
        body, _, digest = line.removesuffix('"}').rpartition(',"digest":"')
        content = (before + body).encode()
        before = hmac.new(key, content, "sha256").hexdigest() if key else hashlib.sha256(content).hexdigest()
        assert digest == before
        assert json.loads(line)["digest"] == digest


def test_the_chain_goes_on_over_files_and_starts(tmp_path: Path) -> None:
    for start in range(3):
        written(tmp_path, range(start * 50, start * 50 + 50), key=KEY, max_size=4096)
    assert len(files(tmp_path)) > 3
    code, said = checked(tmp_path, "--key-file", str(tmp_path / "key"), "--after", "")
    assert (code, said.startswith("150 lines have the right digest; the last is ")) == (0, True)
    (tmp_path / "audit.jsonl").rename(tmp_path / "audit.jsonl.29991231T000000000000Z")
    written(tmp_path, range(150, 151), key=KEY)
    assert check_files(files(tmp_path), KEY, "").broken == ()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: [*lines[:2], lines[2].replace(b'"n": 2', b'"n": 7'), *lines[3:]], 3),
        (lambda lines: [*lines[:2], *lines[3:]], 3),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], 3),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], 3),
        (lambda lines: lines[1:], 1),
    ],
)
def test_what_was_done_to_lines_is_found(tmp_path: Path, change: object, line: int) -> None:
    written(tmp_path, range(6))
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))  # type: ignore[operator]
    code, said = checked(tmp_path, "--after", "")
    assert code == 1
    assert said.startswith(f"{path}:{line}: this line is not what was written after the line before it\n")


def test_without_the_key_no_digest_is_right(tmp_path: Path) -> None:
    written(tmp_path, range(3), key=KEY)
    assert checked(tmp_path, "--after", "")[0] == 1
    assert checked(tmp_path, "--key-file", str(tmp_path / "key"), "--after", "")[0] == 0


def test_half_a_line_of_a_crash_stands_alone(tmp_path: Path) -> None:
    written(tmp_path, range(2))
    with (tmp_path / "audit.jsonl").open("ab") as opened:
        opened.write(b'{"n": 2, "que')
    written(tmp_path, range(3, 5))
    found = check_files(files(tmp_path), b"", "")
    assert [(broken.line, broken.problem) for broken in found.broken] == [(3, "is no whole line")]
    assert found.lines == 4


def test_lines_without_a_digest_are_told(tmp_path: Path) -> None:
    written(tmp_path, range(2))
    written(tmp_path, range(2, 3), digests=False)
    written(tmp_path, range(3, 4))
    code, said = checked(tmp_path)
    assert code == 1
    assert f"{tmp_path / 'audit.jsonl'}:3: this line has no digest\n" in said
    assert "3 lines have the right digest (what was before the first one is not known)" in said


def test_a_key_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"short")
    settings = AuditSettings.model_validate({}).model_copy(update={"digests": True})
    for name, problem in (("short", "holds fewer than 16 bytes"), ("none", "cannot read .*none: No such file")):
        with pytest.raises(ConfigurationError, match=f"'audit-log.digest-key-file': .*{problem}"):
            AuditFile(settings.model_copy(update={"digest_key_file": tmp_path / name}), tmp_path)
    found = CliRunner().invoke(app, ["audit", str(tmp_path / "short"), "--key-file", str(tmp_path / "short")])
    assert found.exit_code == 2
