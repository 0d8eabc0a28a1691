"""A certificate of a database's own, for 127.0.0.1."""

import base64
import shutil
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def certificate(folder: Path, owner: str = "") -> str:
    """Write server.crt and server.key to a folder, and return the certificate as Base64."""
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
        if owner:
            shutil.chown(file, owner)
    return base64.b64encode(made.public_bytes(serialization.Encoding.DER)).decode()
