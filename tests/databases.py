"""Databases of a test's own on the PostgreSQL that all share."""

from __future__ import annotations

import uuid

import sqlalchemy as sa


def new_database(postgres: str, purpose: str) -> str:
    """The address of an empty database, whose name begins with ``purpose``."""
    name = f"{purpose}_{uuid.uuid4().hex}"
    engine = sa.create_engine(postgres.replace("postgresql:", "postgresql+psycopg2:", 1), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return postgres.rpartition("/")[0] + f"/{name}"
