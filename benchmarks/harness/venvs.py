"""An environment of its own for each framework: made on demand, outside the project, with pinned versions."""

import subprocess
import sys
import venv
from hashlib import sha256
from pathlib import Path

from parkway.testing.kafka.install import cache_folder

COMPETITORS = Path(__file__).parents[1] / "competitors"


def python_of(name: str) -> Path:
    """The interpreter of `competitors/<name>`. The first time (and when its requirements change) pip installs them."""
    requirements = COMPETITORS / name / "requirements.txt"
    text = requirements.read_text(encoding="utf-8")
    version = text.splitlines()[0].partition("==")[2]
    mark = sha256(text.encode()).hexdigest()[:8]
    folder = cache_folder() / "bench-venvs" / f"{name}-{version}-{mark}"
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.exists():
        print(f"(making the environment of {name} {version} in {folder})", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements]
        subprocess.run(install, check=True)
        done.touch()
    return python
