"""What tests of the engines share."""

from tests.kernels.object_store import s3_server

__all__ = ["s3_server"]
