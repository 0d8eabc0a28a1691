"""A real PostgreSQL from the system's packages on a free port of 127.0.0.1, with TLS by a certificate of its own."""

import base64
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import quote

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

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
        root = _certificate(folder / "data")
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


def _certificate(folder: Path) -> str:
    """Write a certificate for 127.0.0.1 where the server looks for it, and return it as Base64."""
    key, now, name = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC), x509.Name([])
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    built = built.add_extension(names, critical=True)
    made = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True).sign(key, hashes.SHA256())
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "server.crt").write_bytes(made.public_bytes(pem))
    (folder / "server.key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    for file in (folder / "server.crt", folder / "server.key"):
        file.chmod(0o600)
        if USER:
            shutil.chown(file, "postgres")
    return base64.b64encode(made.public_bytes(serialization.Encoding.DER)).decode()
