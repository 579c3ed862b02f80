"""The error of this package, and the ways out that several messages name."""

from importlib import import_module
from types import ModuleType

from parkway.schemas.errors import ParkwayError

OTHER_BROKERS = (
    "Or use another broker: set PARKWAY_BOOTSTRAP_SERVERS=host:port to one that runs, "
    "or PARKWAY_BROKER=docker to start one in Docker."
)


class BrokerError(ParkwayError):
    """No broker could be had. The message says what failed and the way out; it is meant for people."""


def optional_module(name: str, *, extra: str) -> ModuleType:
    """Import a module that an extra of Parkway brings.

    Raises: BrokerError with the command that installs it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise BrokerError(
            f"the module {error.name!r} is not installed: pip install 'parkway[{extra}]'. {OTHER_BROKERS}"
        ) from error
