from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from typing import overload

from pyarrow import NativeFile

class FileType(Enum):
    NotFound = 0
    Unknown = 1
    File = 2
    Directory = 3

class FileInfo:
    path: str
    base_name: str
    size: int | None
    type: FileType
    mtime: datetime | None
    is_file: bool
    def __init__(
        self, path: str, type: FileType, *, size: int | None = None, mtime: datetime | None = None
    ) -> None: ...

class FileSelector:
    base_dir: str
    recursive: bool
    def __init__(self, base_dir: str, allow_not_found: bool = False, recursive: bool = False) -> None: ...

class FileSystem:
    type_name: str
    def open_input_file(self, path: str) -> NativeFile: ...
    def open_input_stream(self, path: str) -> NativeFile: ...
    def open_output_stream(self, path: str, compression: str | None = "detect") -> NativeFile: ...
    @overload
    def get_file_info(self, paths: str) -> FileInfo: ...
    @overload
    def get_file_info(self, paths: FileSelector | Sequence[str]) -> list[FileInfo]: ...
    def create_dir(self, path: str, *, recursive: bool = True) -> None: ...
    def delete_file(self, path: str) -> None: ...
    def delete_dir(self, path: str) -> None: ...

class LocalFileSystem(FileSystem): ...

class S3FileSystem(FileSystem):
    def __init__(self, **options: object) -> None: ...

class GcsFileSystem(FileSystem):
    def __init__(self, **options: object) -> None: ...

class AzureFileSystem(FileSystem):
    def __init__(self, **options: object) -> None: ...

class HadoopFileSystem(FileSystem):
    def __init__(self, host: str, port: int = 8020) -> None: ...

class FileSystemHandler: ...

class PyFileSystem(FileSystem):
    def __init__(self, handler: FileSystemHandler) -> None: ...
