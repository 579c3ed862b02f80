"""docs/agents/testing.md: its examples run, and print what it says they print."""

import asyncio
import inspect
import re

import pytest
from doc_pages import blocks_of, text_of

PAGE = text_of("docs/agents/testing.md")
BLOCKS = blocks_of("docs/agents/testing.md")
NAMESPACE: dict[str, object] = {"__name__": "docs_agents_testing"}
for block in BLOCKS:
    exec(compile(block, "docs/agents/testing.md", "exec"), NAMESPACE)
TESTS = {name: value for name, value in NAMESPACE.items() if name.startswith("test_") and callable(value)}


@pytest.mark.parametrize("name", TESTS)
def test_an_example_passes(name, request, capsys):
    function = TESTS[name]
    wanted = inspect.signature(function).parameters
    arguments = {fixture: request.getfixturevalue(fixture) for fixture in wanted}
    if inspect.iscoroutinefunction(function):
        asyncio.run(function(**arguments))
    else:
        function(**arguments)
    if name == "test_the_way_of_a_ticket":
        (shown,) = re.findall(r"^It prints\n\n```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
        assert capsys.readouterr().out == shown


def test_the_page_has_what_this_reads():
    assert len(BLOCKS) >= 7
    assert len(TESTS) >= 7
