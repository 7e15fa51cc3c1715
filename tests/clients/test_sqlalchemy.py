"""SQLAlchemy's dialect of Trino over Iceberg tables: what it makes of ``"t$partitions"``, and its ORM."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
pytest.importorskip("trino.sqlalchemy")


def test_no_index_is_invented(whole_service: Service) -> None:
    service = whole_service
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.reflected")
    service.execute("CREATE TABLE iceberg.reflected.plain AS SELECT 1 id")
    service.execute("CREATE TABLE iceberg.reflected.parted WITH (partitioning = ARRAY['p']) AS SELECT 1 id, 'a' p")
    engine = sa.create_engine(service.url.replace("http://", "trino://tester@") + "/iceberg/reflected")
    with engine.connect() as connection:
        inspector = sa.inspect(connection)
        for table in ("plain", "parted"):
            assert inspector.get_indexes(table) == []
            assert next(column["name"] for column in inspector.get_columns(table)) == "id"
        asked = 'SELECT partition.p, record_count, data.id.max FROM "parted$partitions"'
        assert [tuple(row) for row in connection.execute(sa.text(asked))] == [("a", 1, 1)]
        asked = 'SELECT partition, record_count FROM "plain$partitions"'
        assert [tuple(row) for row in connection.execute(sa.text(asked))] == [(None, 1)]
    engine.dispose()


class Base(DeclarativeBase):
    pass


class Visit(Base):
    """One column of each of SQLAlchemy's own types that the dialect has."""

    __tablename__ = "visits"

    id: Mapped[int] = mapped_column(sa.BigInteger, primary_key=True, autoincrement=False)
    page: Mapped[str | None] = mapped_column(sa.String)
    share: Mapped[float | None] = mapped_column(sa.Float)
    price: Mapped[Decimal | None] = mapped_column(sa.Numeric(12, 2))
    new: Mapped[bool | None] = mapped_column(sa.Boolean)
    day: Mapped[date | None] = mapped_column(sa.Date)
    at: Mapped[datetime | None] = mapped_column(sa.DateTime)
    raw: Mapped[bytes | None] = mapped_column(sa.LargeBinary)


@pytest.mark.filterwarnings("ignore:Trino does not support PRIMARY KEY")
def test_objects(whole_service: Service) -> None:
    """SQLAlchemy's ORM: create_all, rows by ``executemany`` and by one VALUES, an update, a page of them, drop_all."""
    whole_service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.orm")
    engine = sa.create_engine(whole_service.url.replace("http://", "trino://tester@") + "/iceberg/orm")
    Base.metadata.create_all(engine)
    values = {"share": 0.25, "price": Decimal("1.25"), "new": True, "day": date(2026, 1, 2), "raw": b"\x00\xff"}
    values["at"] = datetime(2026, 1, 2, 3, 4, 5, 6000)
    with Session(engine) as session:
        session.add_all([Visit(id=key, page=f"it's {key}%?", **values) for key in (1, 2)])
        session.execute(sa.insert(Visit).values([{"id": 3, "page": None}, {"id": 4, "page": "z"}]))
        session.commit()
        first = session.get_one(Visit, 1)
        assert {name: getattr(first, name) for name in values} == values
        first.price = Decimal("7.50")
        session.commit()
        page = sa.select(Visit.id, Visit.price).where(Visit.id.in_([1, 2, 3])).order_by(Visit.id).offset(1).limit(1)
        assert session.execute(page).all() == [(2, Decimal("1.25"))]
        assert session.scalar(sa.select(sa.func.sum(Visit.price)).where(Visit.day > date(2026, 1, 1))) == 8.75
    Base.metadata.drop_all(engine)
    engine.dispose()
    whole_service.execute("DROP SCHEMA iceberg.orm")
