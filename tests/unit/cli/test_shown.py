"""What others wrote does nothing to the terminal that it is shown on."""

import json

import pytest

from parkway.cli.shown import block, json_text, one_line

EVIL = "a\x1b[2J\x1b]0;pwned\x07\nFAKE\r\u202eb\x9b31m\u2028\ud800"


def test_a_line_of_others_stays_one_printable_line() -> None:
    shown = one_line(EVIL)
    assert shown.isprintable()
    assert "\\x1b]0;pwned\\x07\\nFAKE\\r\\u202eb\\x9b31m\\u2028\\ud800" in shown


@pytest.mark.parametrize("text", ["", "Grüße, 世界", "👩‍💻 مرحبا می‌خواهم", "1\xa0000\u202f€"])
def test_what_people_write_is_shown_as_it_is(text: str) -> None:
    assert one_line(text) == block(text) == text
    assert json_text(text) == json.dumps(text, ensure_ascii=False)


def test_a_block_keeps_its_lines() -> None:
    assert block("a\n\tb\r\nc\rd\x1b") == "a\n\tb\nc\\rd\\x1b"


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_printable_and_reads_back(indent: int | None) -> None:
    value = {EVIL: [EVIL, "\U000e0001"]}
    text = json_text(value, indent=indent)
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == value
    text.encode()
