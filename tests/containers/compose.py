"""The compose file, brought up under a project of its own."""

import json
import os
import secrets
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy" / "compose" / "compose.yaml"


class Compose:
    """`docker compose` with our file. `settings` are the variables that the file reads."""

    def __init__(self, **settings: str) -> None:
        self.project = f"parkway-test-{secrets.token_hex(3)}"
        self._environment = {**os.environ, **settings}

    def up(self) -> None:
        try:
            self("up", "--build", "--detach", seconds=900)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.logs()}") from None

    def down(self) -> None:
        self("down", "--volumes", "--timeout", "60", seconds=300)

    def containers(self, service: str) -> list[str]:
        """Ids of the containers of a service, those that have ended as well."""
        labels = {"com.docker.compose.project": self.project, "com.docker.compose.service": service}
        filters = [word for name, value in labels.items() for word in ("--filter", f"label={name}={value}")]
        return docker("ps", "--all", "--quiet", *filters).split()

    def logs(self) -> str:
        return self("logs", "--no-color", "--tail", "60", check=False)

    def __call__(self, *words: str, seconds: float = 120, check: bool = True) -> str:
        command = ["docker", "compose", "--project-name", self.project, "--file", str(FILE), *words]
        return _run(command, self._environment, seconds, check=check)


def docker(*words: str, seconds: float = 120) -> str:
    return _run(["docker", *words], dict(os.environ), seconds, check=True)


def state(container: str) -> dict[str, Any]:
    """What Docker knows of a container: `Status`, `ExitCode`, `Health`, ..."""
    return json.loads(docker("inspect", "--format", "{{json .State}}", container))


def all_are_healthy(compose: Compose, service: str) -> bool:
    containers = compose.containers(service)
    return bool(containers) and all(
        state(container).get("Health", {}).get("Status") == "healthy" for container in containers
    )


def _run(command: list[str], environment: dict[str, str], seconds: float, *, check: bool) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=seconds, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"[-8000:])
    return done.stdout
