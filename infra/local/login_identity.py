"""The identity of an issuer for its clients: its port, which is in its URL, and its signing key; a state keeps both."""

import secrets
import socket

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from infra.local.server import PortInUse, listen
from infra.local.state import State


def signing_key(state: State | None) -> tuple[rsa.RSAPrivateKey, str]:
    """Return the state's key and its id; where it has none, a new one, which the state keeps."""
    kept = state.get("login", "key") if state else None
    if kept:
        id_, _, pem = kept.decode().partition("\n")
        key = serialization.load_pem_private_key(pem.encode(), None)
        assert isinstance(key, rsa.RSAPrivateKey)
        return key, id_
    key, id_ = rsa.generate_private_key(public_exponent=65537, key_size=2048), secrets.token_hex(8)
    if state:
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        state.put("login", "key", f"{id_}\n".encode() + key.private_bytes(*form))
    return key, id_


def listener_of(host: str, port: int, state: State | None) -> socket.socket:
    """Listen on the port of the state, else on `port` if it is free, else on another.

    `PortInUse` for the state's port: with another URL the issuer would be another one, and nobody would be known to it.
    """
    if kept := state.get("login", "port") if state else None:
        return listen(host, int(kept))
    try:
        listener = listen(host, port)
    except PortInUse:
        listener = listen(host, 0)
    if state:
        state.put("login", "port", str(listener.getsockname()[1]).encode())
    return listener
