"""A real PostgreSQL from the system's packages on a free port of 127.0.0.1, with TLS by a certificate of its own."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.services.sql.certificate import certificate

BINARIES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), Path())
AVAILABLE = (BINARIES / "initdb").is_file()
# The server refuses to be root's; its package makes this user.
USER = {"user": "postgres"} if os.getuid() == 0 else {}
SUPERUSER_PASSWORD = "secret of postgres"

SETUP = """
create role reader login password 'p@ss/word:1';
create role writer login password 'writes';
create role programmer login password 'programs';
create role almost login password 'almost';
grant pg_execute_server_program to programmer;
grant programmer to almost;
create database shop owner writer;
"""
TABLES = """
create table orders (id int primary key, status text not null default 'open', total numeric(10, 2), made timestamptz);
create table items (order_id int references orders, amount int not null);
comment on table orders is 'What was bought';
insert into orders values (1, 'open', 12.50, '2026-01-31 09:00:00+01'), (2, 'closed', null, null);
grant select on orders, items to reader;
create sequence numbers;
create function change_orders() returns int language plpgsql as
$$ begin update orders set status = 'x'; return 1; end $$;
"""


@dataclass(frozen=True)
class PostgreSqlServer:
    """A server that runs."""

    port: int
    root: str
    """Its certificate, as the parameter `sslrootcert` has it."""
    folder: Path

    def url(self, user: str, password: str, database: str = "shop", **parameters: str) -> str:
        """The address of a database as a role."""
        query = "&".join(f"{name}={quote(value)}" for name, value in ({"sslrootcert": self.root} | parameters).items())
        return f"postgresql://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}?{query}"

    @property
    def reader(self) -> str:
        return self.url("reader", "p@ss/word:1")

    @property
    def writer(self) -> str:
        return self.url("writer", "writes")

    def execute(self, sql: str, database: str = "shop", user: str = "postgres") -> str:
        """Run SQL by psql, which nobody here wrote."""
        command = [
            str(BINARIES / "psql"),
            "-qAt",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            str(self.folder),
            "-p",
            str(self.port),
        ]
        command += ["-U", user, "-d", database, "-c", sql]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def running_server() -> Iterator[PostgreSqlServer]:
    """Run a server, and end it."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    if USER:
        shutil.chown(folder, "postgres")
    try:
        _command(
            "initdb", "-D", f"{folder}/data", "-U", "postgres", "--auth-local=trust", "--auth-host=scram-sha-256", "-N"
        )
        root = certificate(folder / "data", USER.get("user", ""))
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off -c ssl=on -c max_connections=20"
        _command("pg_ctl", "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start")
        try:
            server = PostgreSqlServer(port, root, folder)
            for line in SETUP.strip().splitlines():
                server.execute(line, "postgres")
            server.execute(TABLES, user="writer")
            yield server
        finally:
            _command("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


def _command(program: str, *arguments: str) -> None:
    subprocess.run(
        [str(BINARIES / program), *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd="/",
        **USER,  # type: ignore[call-overload]
    )
