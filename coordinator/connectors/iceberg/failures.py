"""What catalogs and storage raise, as errors for the person who sent the statement; mapped once, here."""

from __future__ import annotations

import re
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import pydantic
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchTableError,
    RESTError,
    TableAlreadyExistsError,
    ValidationError,
    ValidationException,
)
from requests.exceptions import RequestException
from sqlalchemy.exc import SQLAlchemyError

from coordinator.kernels.errors import KernelError, without_signatures
from shared.errors import ErrorCode, ProcessionError

_OF_METASTORES = (
    ("thrift.Thrift", "TException"),
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
)


_OF_BROKEN_FILES = (
    LookupError,
    ValueError,
    NotImplementedError,
    OverflowError,
    EOFError,
    struct.error,
    zlib.error,
    StopIteration,  # of what is looked for by its id
    SystemError,  # a length below zero in Avro, as PyIceberg's decoder takes it
)
"""What readers of metadata make of bytes and figures that cannot be."""

_PAGE = re.compile(r"(RESTError \d+): .*?<title>(.{1,200}?)</title>", re.DOTALL | re.IGNORECASE)
"""What is answered with a page for people, as web servers do before a catalog sees the request: its title tells why."""


class CommitOutcomeUnknownError(ProcessionError):
    """The catalog did not say whether a commit landed: nothing that it may refer to can be deleted."""


class NotCommittedError(ProcessionError, ValidationException):
    """Nothing landed, and nothing will: PyIceberg takes away what it wrote, as on every ValidationException."""


@contextmanager
def mapped(subject: str) -> Iterator[None]:
    """Turn every expected failure of work on ``subject`` (a table or catalog) into a ProcessionError."""
    try:
        yield
    except ProcessionError:
        raise
    except KernelError as error:  # of what opens files
        raise ProcessionError(ErrorCode[error.name], f"{subject}: {error.message}") from error
    except NoSuchTableError as error:
        raise ProcessionError(ErrorCode.NOT_FOUND, f"Table {subject} does not exist") from error
    except TableAlreadyExistsError as error:
        raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"Table {subject} already exists") from error
    except (CommitFailedException, ValidationException) as error:
        raise ProcessionError(
            ErrorCode.TRANSACTION_CONFLICT, f"{subject}: {_first_line(error)}", retriable=True
        ) from error
    except CommitStateUnknownException as error:
        raise CommitOutcomeUnknownError(
            ErrorCode.PROCEDURE_CALL_FAILED, f"Commit to {subject} has an unknown outcome: {_first_line(error)}"
        ) from error
    except FileNotFoundError as error:
        raise ProcessionError(ErrorCode.ICEBERG_MISSING_DATA, f"{subject}: file is missing: {error}") from error
    except (pydantic.ValidationError, ValidationError, *_OF_BROKEN_FILES) as error:
        if "\0" in subject:
            raise nul_in_name(subject) from error
        raise ProcessionError(
            ErrorCode.ICEBERG_INVALID_METADATA, f"Metadata of {subject} cannot be used: {_first_line(error)}"
        ) from error
    except _optional_errors() as error:
        raise ProcessionError(
            ErrorCode.HIVE_METASTORE_ERROR, f"The metastore of {subject} failed: {_first_line(error)}"
        ) from error
    except (OSError, SQLAlchemyError, RESTError, RequestException) as error:
        raise ProcessionError(
            ErrorCode.ICEBERG_FILESYSTEM_ERROR, f"Catalog or storage of {subject} failed: {_first_line(error)}"
        ) from error


def nul_in_name(name: str) -> ProcessionError:
    """Neither databases nor file systems have it in names."""
    shown = name.replace("\0", "\N{SYMBOL FOR NULL}")
    return ProcessionError(ErrorCode.INVALID_ARGUMENTS, f"Names cannot have the character NUL: {shown}")


def _optional_errors() -> tuple[type[BaseException], ...]:
    """Errors of packages that only some catalogs need: none can be raised before its package was imported."""
    loaded = ((sys.modules.get(module), name) for module, name in _OF_METASTORES)
    return tuple(getattr(module, name) for module, name in loaded if module is not None)


def _first_line(error: BaseException) -> str:
    # Errors of Thrift services print all their fields.
    text = without_signatures(str(getattr(error, "message", None) or error).strip())
    if isinstance(error, RESTError) and (page := _PAGE.search(text)):
        return f"{page[1]}: {' '.join(page[2].split())}"
    return text.splitlines()[0] if text else type(error).__name__


def invalid_property(message: str) -> ProcessionError:
    """A table property that cannot be so."""
    return ProcessionError(ErrorCode.INVALID_TABLE_PROPERTY, message)
