"""Apache Kafka's jars, from Maven Central into a folder, by jgo (a Maven client in Python).

jgo's own resolver picks other versions than Maven does and then the broker dies with
NoSuchMethodError, and it only warns about a wrong checksum. So the file beside this module pins
every jar with its SHA-256, jgo downloads exactly those, and a jar takes its place in the folder
only after its checksum was right: what stands there is whole, and a download that broke is
continued, not begun again.
"""

import hashlib
import logging
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from parkway.testing.kafka import locks
from parkway.testing.kafka.errors import OTHER_BROKERS, BrokerError, optional_module
from parkway.testing.kafka.progress import Progress

KAFKA_VERSION = "4.4.0"
MEGABYTES = 55
MAVEN_CENTRAL = "https://repo.maven.apache.org/maven2"

_CONNECTIONS = 8
_TIMEOUT_SECONDS = 15
RETRY_DELAYS = (1.0, 3.0)  # seconds before the second and the third try of one jar


@dataclass(frozen=True)
class Jar:
    """One pinned Maven artifact."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"


def pinned_jars() -> list[Jar]:
    """Return the jars that make up the broker, in the order of its class path."""
    text = resources.files(__package__).joinpath(f"coordinates-{KAFKA_VERSION}.txt").read_text("utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return [Jar(*line.replace(" ", ":").split(":")) for line in lines]


def fetch_jars(folder: Path, *, repository: str = MAVEN_CENTRAL) -> list[Path]:
    """Return the broker's jars in `folder`, after downloading those that are missing.

    Several processes may call it at once for one folder: one downloads, the others wait for it.

    Raises: BrokerError when a jar cannot be had.
    """
    jars = pinned_jars()
    paths = [folder / jar.name for jar in jars]
    if all(path.exists() for path in paths):
        return paths
    progress = Progress(f"parkway: Apache Kafka {KAFKA_VERSION}", len(jars))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locks.exclusive(
            folder / ".lock", on_wait=lambda: progress.say("waiting for another process that downloads it")
        ):
            missing = [jar for jar in jars if not (folder / jar.name).exists()]
            if missing:
                progress.say(f"downloading about {MEGABYTES} MB, once, to {folder}")
                _download(missing, folder, repository, Progress(progress.title, len(missing)))
    except OSError as error:  # a full disk, a folder that is not ours; requests' errors are OSErrors too
        raise _failure(error, repository) from error
    return paths


def _download(jars: list[Jar], folder: Path, repository: str, progress: Progress) -> None:
    # In the same folder, so that the move into place is a rename.
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as staging, _quiet_jgo():
        context = _maven(Path(staging), repository)
        pool = ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="parkway-download")
        try:
            for done in as_completed([pool.submit(_fetch, jar, context, folder, repository) for jar in jars]):
                done.result()
                progress.step()
        finally:
            pool.shutdown(cancel_futures=True)


def _maven(staging: Path, repository: str) -> Any:
    return optional_module("jgo.maven", extra="dev").MavenContext(
        repo_cache=staging, local_repos=[], remote_repos={"central": repository}, timeout=_TIMEOUT_SECONDS
    )


def _fetch(jar: Jar, context: Any, folder: Path, repository: str) -> None:
    artifact = context.project(jar.group, jar.artifact).at_version(jar.version).artifact()
    for delay in (*RETRY_DELAYS, None):
        try:
            downloaded: Path = artifact.resolve()
            _verify(jar, downloaded)
        except (
            OSError,
            RuntimeError,
        ) as error:  # RuntimeError: the repository answered, but not with the jar
            artifact.cached_path.unlink(missing_ok=True)
            if delay is None:
                raise _failure(error, repository) from error
            time.sleep(delay)
        else:
            downloaded.replace(folder / jar.name)
            return


def _verify(jar: Jar, path: Path) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != jar.sha256:
        raise RuntimeError(f"{jar.name} has the SHA-256 {found}, pinned is {jar.sha256}")


@contextmanager
def _quiet_jgo() -> Iterator[None]:
    # jgo logs through `logging`; what matters of it is raised here.
    logger = logging.getLogger("jgo")
    before = logger.propagate
    handler = logging.NullHandler()
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = before
        logger.removeHandler(handler)


def _failure(error: Exception, repository: str) -> BrokerError:
    return BrokerError(
        f"Apache Kafka {KAFKA_VERSION} could not be downloaded from {repository}: {error}\n"
        f"Try again (what is here already is kept); behind a proxy set HTTPS_PROXY. {OTHER_BROKERS}"
    )
