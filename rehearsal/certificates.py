"""A certificate for the engine's host names, signed by an authority that only the rehearsal's processes trust."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

AUTHORITY = "MCPist rehearsal"
VALID_DAYS = 2
KEY_CERT_SIGN = 5  # the bit's place in KeyUsage


@dataclass(frozen=True)
class Certificates:
    """Files in PEM."""

    authority: Path
    chain: Path
    """The engine's certificate, then the authority's."""
    key: Path
    """The private key of the engine's certificate."""


def write_certificates(folder: Path, host: str) -> Certificates:
    """Write a new authority, and a certificate for 127.0.0.1 and a host name; return the files."""
    files = Certificates(folder / "authority.pem", folder / "chain.pem", folder / "key.pem")
    signer, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    usage = x509.KeyUsage(*(bit == KEY_CERT_SIGN for bit in range(9)))
    authority = _builder(AUTHORITY, signer, signer)
    authority = authority.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    authority = authority.add_extension(usage, critical=True)
    names = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1")), x509.DNSName(host)])
    own = _builder("engine", key, signer).add_extension(names, critical=False)
    trusted, served = (one.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM) for one in (authority, own))
    files.authority.write_bytes(trusted)
    files.chain.write_bytes(served + trusted)
    files.key.touch(0o600)
    files.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


def _builder(
    subject: str, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    own, signers = key.public_key(), signer.public_key()
    return (
        x509.CertificateBuilder(_name(AUTHORITY), _name(subject), own, x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signers), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
