"""The socket of the driver: until a deadline, up to a size, by TLS, and to an address that may be reached."""

import ssl
import time
from dataclasses import replace
from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any, Literal, Self

from mcpist.bounded_http.addresses import Network, open_connection
from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout
from mcpist.settings import settings
from mcpist_services.sql.address import DatabaseAddress
from mcpist_services.sql.values import StatementResult

DATABASE_CONNECT_SECONDS = 5.0
MAX_FETCHED_BYTES = 10_000_000
_READ_BYTES = 65536
NO_TLS = "the database offers no TLS"


type Cause = Literal["statement", "account", "temporary", "cancelled", "read only"]


class ServerError(Exception):
    """A request that the server refused, or whose answer is refused here."""

    def __init__(self, message: str, cause: Cause = "statement") -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause
        """What must change: the statement, the account, the server's state, the time or the kind of transaction."""


class ResultTooLarge(ServerError):
    """Rows of more than MAX_FETCHED_BYTES: nothing can be asked after the result, which has those before the bound."""

    def __init__(self, result: StatementResult) -> None:
        super().__init__(f"its rows are larger than {MAX_FETCHED_BYTES:,} bytes: return fewer")
        self.result = replace(result, is_cut=True)


class UntrustedConnection(ExchangeFailed):
    """A connection that is not as safe as the account must have it: nothing of the account was sent."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, sent=False)
        self.reason = reason


class DatabaseStream:
    """A connection to a database, to the driver a socket and its file; every failure is an ExchangeFailed."""

    def __init__(self, address: DatabaseAddress, deadline: float) -> None:
        self._deadline = deadline
        self._received = bytearray()
        self._unsent = bytearray()
        connect_deadline = min(deadline, time.monotonic() + DATABASE_CONNECT_SECONDS)
        self.socket: Any = open_connection(address.host, address.port, connect_deadline, _networks())
        self.is_secure = False
        self._address = address
        if address.is_plain and not self._is_inside():
            self.close()
            raise UntrustedConnection("sslmode=disable counts only in networks that the owner of this deployment names")

    def makefile(self, mode: str) -> Self:
        """Return itself: bytes are written until `flush`, and read whole."""
        del mode
        return self

    def write(self, content: bytes) -> None:
        """Keep bytes to be sent."""
        self._unsent += content

    def flush(self) -> None:
        """Send what was written, before the deadline."""
        content, self._unsent = self._unsent, bytearray()
        try:
            self.socket.settimeout(self._remaining())
            self.socket.sendall(content)
        except TimeoutError:
            raise ExchangeTimeout("WriteTimeout") from None
        except OSError as error:
            raise ExchangeFailed(type(error).__name__) from None

    def read(self, size: int) -> bytes:
        """Return exactly so many bytes; ServerError for a message that is too large."""
        if size > MAX_FETCHED_BYTES:
            raise ServerError(f"a row is larger than {MAX_FETCHED_BYTES:,} bytes: select less of it")
        if size < 0:
            raise ExchangeFailed("it does not speak the protocol")
        while len(self._received) < size:
            try:
                self.socket.settimeout(self._remaining())
                read = self.socket.recv(_READ_BYTES)
            except TimeoutError:
                raise ExchangeTimeout("ReadTimeout") from None
            except OSError as error:
                raise ExchangeFailed(type(error).__name__) from None
            if not read:
                raise ExchangeFailed("the database has closed the connection")
            self._received += read
        found = bytes(self._received[:size])
        del self._received[:size]
        return found

    def close(self) -> None:
        """Close the connection: what was not committed is rolled back."""
        self.socket.close()

    def begin_tls(self) -> None:
        """Send and read all that follows by TLS, to a server whose certificate is verified."""
        # Not a byte more may have come: it would be taken for one that the server sent by TLS (CVE-2021-23222).
        if self._received:
            raise UntrustedConnection(NO_TLS)
        try:
            self.socket.settimeout(self._remaining())
            context = _context(self._address.root_certificates)
            self.socket = context.wrap_socket(self.socket, server_hostname=self._address.host)
        except ssl.SSLCertVerificationError as error:
            problem = f"its certificate is refused ({error.verify_message}); sslrootcert names the one that signed it"
            raise UntrustedConnection(problem) from None
        except (OSError, ValueError) as error:
            raise ExchangeFailed(f"TLS failed: {type(error).__name__}", sent=False) from None
        self.is_secure = True

    def _is_inside(self) -> bool:
        reached = ip_address(self.socket.getpeername()[0])
        return reached.is_loopback or any(reached in network for network in _networks())

    def _remaining(self) -> float:
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds


def _networks() -> tuple[Network, ...]:
    return tuple(map(ip_network, settings().database_networks))


@cache
def _public_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _context(root_certificates: bytes) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=root_certificates) if root_certificates else _public_context()
