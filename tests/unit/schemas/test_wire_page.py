"""docs/wire.md: never older than the code, and what it shows works."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from parkway.schemas.avro import AvroCodec
from parkway.schemas.event_types import BUILT_IN_TYPES
from parkway.schemas.events import Event
from parkway.schemas.formats import envelope

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "wire.md").read_text("utf-8")


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wire_page", ROOT / "tools" / "wire_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_page_is_not_older_than_the_code(generator):
    assert generator.page() == PAGE, "run `python tools/wire_page.py`"


def test_every_part_that_is_made_is_on_the_page(generator):
    template = (ROOT / "tools" / "wire_page.md").read_text("utf-8")
    assert set(re.findall(r"\{\{ (\w+) \}\}", template)) == generator.PARTS.keys()
    assert "{{" not in PAGE


def test_every_example_is_an_event_and_every_type_has_one():
    events = [Event.parse(envelope(block.encode(), {}, AvroCodec())) for block in blocks("json")]
    assert {event.type for event in events} >= BUILT_IN_TYPES


def test_every_word_and_header_has_its_meaning(generator):
    for part in ("header_table", "error_table", "reason_table"):
        for row in generator.PARTS[part]().splitlines()[2:]:
            assert len(row.split("|")[2].strip()) > 5, row


def test_python_example_emits_an_event_that_is_read(monkeypatch):
    sent = []

    class Producer:
        def __init__(self, settings):
            assert settings["partitioner"] == "murmur2_random"

        def produce(self, topic, value, key, headers):
            sent.append((topic, envelope(value, headers, AvroCodec())))

        def flush(self):
            pass

    class Consumer(Producer):
        def __init__(self, settings):
            assert settings["isolation.level"] == "read_committed"

        def subscribe(self, topics):
            assert topics == ["parkway.outputs"]

        def poll(self, timeout):
            return None

        def close(self):
            pass

    import confluent_kafka

    monkeypatch.setattr(confluent_kafka, "Producer", Producer)
    monkeypatch.setattr(confluent_kafka, "Consumer", Consumer)
    (example,) = blocks("python")
    exec(compile(example, "wire.md", "exec"), {})
    ((topic, value),) = sent
    assert topic == "parkway.requests"
    assert Event.parse(value).type == "_chat_request_event"


def test_wherever_a_consumer_is_shown_it_reads_committed_records_only():
    for language, consumer in (("sh", "kcat -C"), ("java", "new KafkaConsumer"), ("python", "Consumer(")):
        (block,) = blocks(language)
        assert consumer in block
        assert "read_committed" in block


def test_what_kcat_and_java_send_are_events():
    (shell,), (java,) = blocks("sh"), blocks("java")
    texts = [*re.findall(r"echo '(.*?)'", shell)]
    texts += [json.loads(text) for text in re.findall(r'String event = ("(?:[^"\\]|\\.)*");', java)]
    assert [Event.parse(text).type for text in texts] == ["_input_event", "_input_event"]
