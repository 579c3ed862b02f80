"""Ports on the loopback interface that a broker can have, and keep over a restart."""

import secrets
import socket

HOST = "127.0.0.1"

# Below the range that the kernel gives to outgoing connections (Linux from 32768, macOS from 49152):
# there a client that tries to reach a dead broker can get the broker's own port as its source port,
# connect to itself, and keep the port from the broker that comes back.
_CANDIDATES = range(20_000, 32_000)


def is_free(port: int) -> bool:
    """Whether nothing listens on the port (a connection in TIME_WAIT does not count, as for Kafka)."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Return `count` different ports that nobody uses at this moment."""
    shuffled = secrets.SystemRandom().sample(_CANDIDATES, len(_CANDIDATES))
    free = (port for port in shuffled if is_free(port))
    return [next(free) for _ in range(count)]


def accepts(port: int) -> bool:
    """Whether somebody accepts connections on the port."""
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True
