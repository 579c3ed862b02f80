"""A broker that asks who a client is, and what it may: SASL/SCRAM, TLS, ACLs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MECHANISM = "SCRAM-SHA-512"


@dataclass(frozen=True)
class Security:
    """Clients give a user name and a password; what is not allowed by an ACL is forbidden.

    Args:
        users: name -> password (SCRAM-SHA-512).
        super_users: those of `users` to whom no ACL applies: who makes the ACLs.
        certificate: a PEM file with the broker's private key (PKCS 8, not encrypted) and its chain. With it clients
            come by SASL_SSL, else by SASL_PLAINTEXT.

    """

    users: Mapping[str, str]
    super_users: tuple[str, ...] = ("admin",)
    certificate: Path | None = None

    @property
    def protocol(self) -> str:
        return "SASL_PLAINTEXT" if self.certificate is None else "SASL_SSL"

    @property
    def format_arguments(self) -> list[str]:
        """For `kafka-storage format`: users must be there before anybody can log in to make them."""
        scram = (f"{MECHANISM}=[name={name},password={password}]" for name, password in self.users.items())
        return [word for user in scram for word in ("--add-scram", user)]


def security_properties(security: Security, clients: str, inside: str, controller: str) -> dict[str, str]:
    """The properties of a node whose clients come to `clients`, and its own kind to `inside`, without credentials."""
    supers = ("ANONYMOUS", *security.super_users)  # ANONYMOUS: the nodes, on the loopback interface
    tls = {} if security.certificate is None else _tls(security.certificate)
    return {
        "listeners": f"CLIENTS://{clients},INSIDE://{inside},CONTROLLER://{controller}",
        "advertised.listeners": f"CLIENTS://{clients},INSIDE://{inside}",
        "listener.security.protocol.map": f"CLIENTS:{security.protocol},INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
        "sasl.enabled.mechanisms": MECHANISM,
        f"listener.name.clients.{MECHANISM.lower()}.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "super.users": ";".join(f"User:{name}" for name in supers),
        **tls,
    }


def _tls(certificate: Path) -> dict[str, str]:
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificate.resolve())}
