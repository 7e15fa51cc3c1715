"""A real Hive metastore for tests: the one that pyspark brings, over Derby in a directory of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from hive_metastore.ThriftHiveMetastore import Client
from hive_metastore.ttypes import ShowLocksRequest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from coordinator.engine.spark.java import find_java
from tests.ports import free_port

JARS = Path(pyspark.__file__).parent / "jars"
# A small heap, and no second compiler: it lives for a minute.
JVM = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dderby.system.durability=test"]
START_SECONDS = 200  # half a minute on an idle machine
# DataNucleus makes the tables of the metastore itself; those of locks come from Hive's schema scripts, of which these
# are the tables that version 2.3 asks for.
LOCKS = """
CREATE TABLE TXNS (TXN_ID bigint PRIMARY KEY, TXN_STATE char(1) NOT NULL, TXN_STARTED bigint NOT NULL,
  TXN_LAST_HEARTBEAT bigint NOT NULL, TXN_USER varchar(128) NOT NULL, TXN_HOST varchar(128) NOT NULL,
  TXN_AGENT_INFO varchar(128), TXN_META_INFO varchar(128), TXN_HEARTBEAT_COUNT integer);
CREATE TABLE TXN_COMPONENTS (TC_TXNID bigint REFERENCES TXNS (TXN_ID), TC_DATABASE varchar(128) NOT NULL,
  TC_TABLE varchar(128), TC_PARTITION varchar(767), TC_OPERATION_TYPE char(1) NOT NULL);
CREATE TABLE COMPLETED_TXN_COMPONENTS (CTC_TXNID bigint, CTC_DATABASE varchar(128) NOT NULL, CTC_TABLE varchar(256),
  CTC_PARTITION varchar(767));
CREATE TABLE NEXT_TXN_ID (NTXN_NEXT bigint NOT NULL);
INSERT INTO NEXT_TXN_ID VALUES(1);
CREATE TABLE HIVE_LOCKS (HL_LOCK_EXT_ID bigint NOT NULL, HL_LOCK_INT_ID bigint NOT NULL, HL_TXNID bigint,
  HL_DB varchar(128) NOT NULL, HL_TABLE varchar(128), HL_PARTITION varchar(767), HL_LOCK_STATE char(1) NOT NULL,
  HL_LOCK_TYPE char(1) NOT NULL, HL_LAST_HEARTBEAT bigint NOT NULL, HL_ACQUIRED_AT bigint,
  HL_USER varchar(128) NOT NULL, HL_HOST varchar(128) NOT NULL, HL_HEARTBEAT_COUNT integer,
  HL_AGENT_INFO varchar(128), HL_BLOCKEDBY_EXT_ID bigint, HL_BLOCKEDBY_INT_ID bigint,
  PRIMARY KEY(HL_LOCK_EXT_ID, HL_LOCK_INT_ID));
CREATE TABLE NEXT_LOCK_ID (NL_NEXT bigint NOT NULL);
INSERT INTO NEXT_LOCK_ID VALUES(1);
CREATE TABLE AUX_TABLE (MT_KEY1 varchar(128) NOT NULL, MT_KEY2 bigint NOT NULL, MT_COMMENT varchar(255),
  PRIMARY KEY(MT_KEY1, MT_KEY2));
EXIT;
"""
SETTINGS = {
    "datanucleus.schema.autoCreateAll": "true",
    "datanucleus.connectionPoolingType": "NONE",
    "hive.metastore.schema.verification": "false",
    "hive.async.log.enabled": "false",
}


@dataclass(frozen=True)
class HiveMetastore:
    """A running metastore; ``home`` holds its database and its own warehouse."""

    port: int
    home: Path

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    @contextmanager
    def client(self) -> Iterator[Client]:
        transport = TBufferedTransport(TSocket("127.0.0.1", self.port))
        transport.open()
        try:
            yield Client(TBinaryProtocol(transport))
        finally:
            transport.close()

    def table(self, database: str, name: str) -> Any:
        """The metastore's own entry, not Iceberg's."""
        with self.client() as client:
            return client.get_table(database, name)

    def locks(self) -> list[Any]:
        with self.client() as client:
            return list(client.show_locks(ShowLocksRequest()).locks or [])


@contextmanager
def hive_metastore(home: Path) -> Iterator[HiveMetastore]:
    """Up once it takes connections; ended by its process id."""
    database = f"jdbc:derby:{home}/metastore_db;create=true"
    (home / "locks.sql").write_text(f"CONNECT '{database};user=APP;password=mine';{LOCKS}")
    derby = os.pathsep.join(str(jar) for jar in JARS.glob("derby*.jar"))
    log = f"-Dderby.stream.error.file={home}/derby.log"
    java = str(find_java(os.environ).executable)
    made = [java, *JVM, log, "-cp", derby, "org.apache.derby.tools.ij", str(home / "locks.sql")]
    printed = subprocess.run(made, check=True, capture_output=True, text=True, timeout=START_SECONDS).stdout
    assert "ERROR" not in printed, printed
    settings = SETTINGS | {
        "javax.jdo.option.ConnectionURL": database,
        "hive.metastore.warehouse.dir": f"file:{home}/own",
    }
    entries = "".join(f"<property><name>{k}</name><value>{v}</value></property>" for k, v in settings.items())
    (home / "hive-site.xml").write_text(f"<configuration>{entries}</configuration>")
    port = free_port()
    command = [java, *JVM, log, f"-Dhive.log.dir={home}", "-cp", f"{home}{os.pathsep}{JARS}/*"]
    with (home / "out.log").open("w") as output:
        process = subprocess.Popen(
            [*command, "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)], stdout=output, stderr=output
        )
    try:
        _wait(process, port, home / "out.log")
        yield HiveMetastore(port, home)
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"the metastore did not start: {log.read_text()[-2000:]}")
