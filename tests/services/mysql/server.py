"""A real MariaDB from the system's packages on a free port of 127.0.0.1, with TLS by a certificate of its own."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.services.sql.certificate import certificate

SERVER = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
AVAILABLE = bool(SERVER)
# The server refuses to be root's; its package makes this user.
OWNER = "mysql" if os.getuid() == 0 else ""
# Its first files, some 20 MB, are written faster there than to a disk; a container may have little of it.
MEMORY = Path("/dev/shm")
MIN_MEMORY_BYTES = 200_000_000
OPTIONS = (
    *("--no-defaults", "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=16M", "--innodb-flush-method=nosync"),
    *((f"--user={OWNER}",) if OWNER else ()),
)

SETUP = r"""
create database shop; create database other;
create user reader@'%' identified by 'p@ss/wörd:1'; grant select on shop.* to reader@'%';
create user writer@'%' identified by 'writes'; grant all on shop.* to writer@'%';
create user filer@'%' identified by 'files'; grant file on *.* to filer@'%';
grant select on shop.* to filer@'%';
create user all_of_it@'%' identified by 'all'; grant all on *.* to all_of_it@'%';
create user pattern@'%' identified by 'like'; grant all on `%`.* to pattern@'%';
create role files; grant file on *.* to files;
create role nested; grant files to nested;
create role plain; grant select on other.* to plain;
create user almost@'%' identified by 'almost'; grant nested to almost@'%';
grant select on shop.* to almost@'%';
create user member@'%' identified by 'member'; grant select on shop.* to member@'%';
grant plain to member@'%'; set default role plain for member@'%';
use shop;
create table orders (
  id int primary key, status varchar(20) not null default 'open', total decimal(10, 2),
  made timestamp null, unique key by_status (status, id)
) comment 'What was bought';
create table items (order_id int, amount int not null, foreign key (order_id) references orders (id));
create table old_items (amount int) engine = myisam;
create view open_orders as select id from orders where status = 'open';
insert into orders values (1, 'open', 12.50, '2026-01-31 09:00:00'), (2, 'closed', null, null);
insert into old_items values (1);
create sequence numbers;
create table other.secrets (word varchar(20)); insert into other.secrets values ('hidden');
delimiter //
create function change_orders() returns int modifies sql data begin update orders set status = 'x'; return 1; end //
create procedure two_results() begin select 1 as a; select 2 as b; end //
"""


@dataclass(frozen=True)
class MySqlServer:
    """A server that runs."""

    port: int
    root: str
    """Its certificate, as the parameter `sslrootcert` has it."""
    folder: Path

    def url(self, user: str, password: str, database: str = "shop", **parameters: str) -> str:
        """The address of a database as a user."""
        query = "&".join(f"{name}={quote(value)}" for name, value in ({"sslrootcert": self.root} | parameters).items())
        return f"mysql://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}?{query}"

    @property
    def reader(self) -> str:
        return self.url("reader", "p@ss/wörd:1")

    @property
    def writer(self) -> str:
        return self.url("writer", "writes")

    def execute(self, sql: str) -> str:
        """Run SQL as root by the server's own client, which nobody here wrote."""
        command = ["mariadb", "--no-defaults", f"--socket={self.folder}/s", "-uroot", "-N", "-B", "shop"]
        if "create database" in sql:
            command.pop()
        done = subprocess.run(command, input=sql, check=True, capture_output=True, text=True)
        return done.stdout.strip()


@contextmanager
def running_server() -> Iterator[MySqlServer]:
    """Run a server, and end it."""
    assert SERVER
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MIN_MEMORY_BYTES
    folder = Path(tempfile.mkdtemp(prefix="my", dir=MEMORY if in_memory else None))
    if OWNER:
        shutil.chown(folder, OWNER)
    try:
        data = f"--datadir={folder}/data"
        install = ["mariadb-install-db", *OPTIONS, data, "--skip-test-db", "--auth-root-authentication-method=normal"]
        subprocess.run(install, check=True, capture_output=True)
        root = certificate(folder / "data", OWNER)
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        tls = [f"--ssl-cert={folder}/data/server.crt", f"--ssl-key={folder}/data/server.key", "--local-infile=1"]
        place = [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder}/s", f"--log-error={folder}/log"]
        process = subprocess.Popen([SERVER, *OPTIONS, data, *tls, *place])
        try:
            server = MySqlServer(port, root, folder)
            _wait_for(folder / "s", process)
            server.execute(SETUP)
            yield server
        finally:
            process.kill()
            process.wait()
    finally:
        shutil.rmtree(folder)


def _wait_for(place: Path, process: "subprocess.Popen[bytes]") -> None:
    while not place.exists():
        assert process.poll() is None, "MariaDB did not start"
        time.sleep(0.05)
