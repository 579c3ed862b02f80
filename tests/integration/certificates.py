"""A certificate authority for one test, and a broker's certificate that it signs."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)


def make_certificates(folder: Path) -> tuple[Path, Path]:
    """Give the authority's certificate, and the PEM file of a broker on 127.0.0.1: key and chain."""
    authority_key, broker_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = (
        _certificate("test authority", authority_key, "test authority")
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    broker = (
        _certificate("broker", broker_key, "test authority")
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    key = broker_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    authority_file, broker_file = folder / "ca.pem", folder / "broker.pem"
    authority_file.write_bytes(authority.public_bytes(pem))
    broker_file.write_bytes(key + broker.public_bytes(pem) + authority.public_bytes(pem))
    return authority_file, broker_file


def _certificate(name: str, key: ec.EllipticCurvePrivateKey, issuer: str) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - _DAY)
        .not_valid_after(datetime.now(UTC) + _DAY)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
