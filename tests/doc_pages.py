"""Pages of the documentation whose blocks run: a test takes a page, and gets the module that its Python makes."""

import re
import sys
import types
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[1]
_NAMED: Final = re.compile(r"# ([\w-]+\.\w+)(?:, .*)?\n")


def text_of(page: str) -> str:
    """`docs/agents/chat.md` -> its text."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks_of(page: str, language: str = "python") -> list[str]:
    """The blocks of one language, in the order of the page."""
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.DOTALL | re.MULTILINE)


def run_page(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run every Python block of a page, in order, and give the names that it has made.

    `folder` becomes the current one, and holds the examples and docs of the project. A block whose first line is
    `# support.py` (or `# support.py, further down`) is a module of that name too, and one of another language that begins with `# agent.yaml` a file.
    """
    for name in ("examples", "docs"):
        (folder / name).symlink_to(ROOT / name)
    for language in ("yaml", "json", "csv"):
        for block in blocks_of(page, language):
            if named := _NAMED.match(block):
                (folder / named[1]).write_text(block, encoding="utf-8")
    monkeypatch.chdir(folder)
    whole = types.ModuleType(f"{Path(page).stem}_page")
    whole.__file__ = str(folder / f"{Path(page).stem}_page.py")
    monkeypatch.setitem(sys.modules, whole.__name__, whole)
    modules: dict[str, types.ModuleType] = {}
    for block in blocks_of(page):
        exec(compile(block, page, "exec"), vars(whole))
        if named := _NAMED.match(block):
            name = Path(named[1]).stem
            module = modules.setdefault(name, types.ModuleType(name))
            monkeypatch.setitem(sys.modules, name, module)
            vars(module).update({key: value for key, value in vars(whole).items() if not key.startswith("__")})
    return vars(whole)
