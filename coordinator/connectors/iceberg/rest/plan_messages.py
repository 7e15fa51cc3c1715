"""What a server answers that plans scans, as far as it is needed here.

Source: Iceberg's REST specification (``FetchPlanningResult``, ``ScanTasks``, ``FileScanTask``, ``ContentFile``).
PyIceberg's own models refuse partition values that are NULL, and expressions that they do not know.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

JsonValue = bool | int | float | str | None


class _Message(BaseModel):
    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"), frozen=True)


class Counts(_Message):
    """A map of field ids."""

    keys: list[int] = []
    values: list[int] = []

    def by_id(self) -> dict[int, int]:
        return dict(zip(self.keys, self.values, strict=True))


class ContentFile(_Message):
    """A data or delete file; ``partition`` has single values in JSON, in the order of its spec."""

    content: Literal["data", "position-deletes", "equality-deletes"]
    file_path: str
    file_format: str
    spec_id: int
    partition: list[JsonValue] = []
    file_size_in_bytes: int = Field(ge=0)
    record_count: int = Field(ge=0)
    key_metadata: str | None = None
    sort_order_id: int | None = None
    column_sizes: Counts | None = None
    equality_ids: list[int] | None = None
    first_row_id: int | None = None
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size_in_bytes: int | None = None


class FileScanTask(_Message):
    """A data file, and the delete files of its message that apply to it."""

    data_file: ContentFile
    delete_file_references: list[int] | None = None


class ScanTasks(_Message):
    """A part of a plan; ``plan_tasks`` name further ones."""

    delete_files: list[ContentFile] | None = None
    file_scan_tasks: list[FileScanTask] | None = None
    plan_tasks: list[str] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        tasks, known = self.file_scan_tasks or (), self.delete_files or ()
        if any(not 0 <= i < len(known) for task in tasks for i in task.delete_file_references or ()):
            raise ValueError("a task names a delete file that is not in its message")
        data = all(task.data_file.content == "data" for task in tasks)
        if not data or any(file.content == "data" for file in known):
            raise ValueError("a task is about a delete file, or has a data file for one")
        return self


class StorageCredential(_Message):
    """Keys for the files below a location."""

    prefix: str
    config: dict[str, str]


class Completed(ScanTasks):
    """The plan."""

    status: Literal["completed"]
    plan_id: str | None = None
    storage_credentials: list[StorageCredential] | None = None


class Submitted(_Message):
    """It is being made."""

    status: Literal["submitted"]
    plan_id: str


class Cancelled(_Message):
    """It will not come."""

    status: Literal["cancelled"]


class Failure(_Message):
    """Why there is none."""

    message: str = "it does not tell why"


class Failed(_Message):
    """It will not come, for a reason."""

    status: Literal["failed"]
    error: Failure = Failure()


PlanningResult = Annotated[Completed | Submitted | Cancelled | Failed, Field(discriminator="status")]
PLANNING_RESULT: TypeAdapter[PlanningResult] = TypeAdapter(PlanningResult)
