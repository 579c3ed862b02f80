"""A real PostgreSQL with pgvector, out of the wheel `pgserver`.

The wheel's own starter makes a system user and opens folders to the world when it runs as root. This one does not: it
starts the wheel's programs as `nobody` then (PostgreSQL refuses root), in a folder of its own.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class Postgres:
    """Runs between `start` and `stop`; `dsn` reaches it by a Unix socket. `halt` and `start` again keep the data."""

    def __init__(self) -> None:
        spec = find_spec("pgserver")
        assert spec is not None
        assert spec.origin is not None
        self._programs = Path(spec.origin).parent / "pginstall" / "bin"
        self._folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path has 107 bytes at most
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self._folder, nobody.pw_uid, nobody.pw_gid)
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self._data = self._folder / "data"
        self._server: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", str(self._data), "-U", "postgres", "--auth=trust", "-E", "UTF8", "--no-sync")

    @property
    def dsn(self) -> str:
        return f"host={self._folder} user=postgres dbname=postgres"

    def start(self) -> None:
        settings = ["-c", "fsync=off", "-c", "listen_addresses=", "-c", f"unix_socket_directories={self._folder}"]
        with (self._folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self._data), *settings],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                **self._as,
            )
        deadline = time.monotonic() + 60
        status = self._data / "postmaster.pid"
        while not (status.exists() and status.read_text().splitlines()[-1].strip() == "ready"):
            assert self._server.poll() is None, (self._folder / "log").read_text()
            assert time.monotonic() < deadline, "PostgreSQL does not start"
            time.sleep(0.02)

    def halt(self) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)  # fast: it waits for no client
            self._server.wait(60)
            self._server = None

    def stop(self) -> None:
        self.halt()
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self._folder,
            **self._as,
        )
        assert done.returncode == 0, done.stderr
