"""Each test runs a process: logs are set up once per process, and go to its stderr."""

import json
import subprocess
import sys
import textwrap
from typing import Any


def stderr_of(code: str, log_format: str = "auto", level: str = "info", *, capture: bool = False) -> str:
    setup = (
        "from parkway.runtime.logs import configure_logs, get_logger, name_process\n"
        f"configure_logs({log_format!r}, {level!r}, capture_content={capture})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", setup + textwrap.dedent(code)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == ""
    return done.stderr


def lines_of(code: str, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stderr_of(code, **options).splitlines()]


def test_a_line_is_json_with_its_fields_in_order() -> None:
    (line,) = lines_of("""
        name_process(namespace="acme", instance="w0")
        get_logger("router").bind(action="triage").info("assigned", partitions=3)
    """)
    assert list(line)[:4] == ["timestamp", "level", "component", "event"]
    del line["timestamp"]
    assert line == {
        "level": "info",
        "component": "router",
        "event": "assigned",
        "namespace": "acme",
        "instance": "w0",
        "action": "triage",
        "partitions": 3,
    }


def test_a_handlers_own_logging_comes_out_in_the_same_form() -> None:
    (line,) = lines_of("""
        import logging
        from structlog.contextvars import bound_contextvars
        name_process(namespace="acme", instance="w0")
        with bound_contextvars(action="triage"):
            logging.getLogger("my_agent.tools").warning("no price for %s", "bolts")
    """)
    assert line["event"] == "no price for bolts"
    assert (line["level"], line["component"], line["action"]) == ("warning", "my_agent.tools", "triage")
    assert (line["namespace"], line["instance"]) == ("acme", "w0")


def test_pythons_warnings_are_lines_too() -> None:
    (line,) = lines_of("import warnings; warnings.warn('old')")
    assert line["component"] == "py.warnings"
    assert "old" in line["event"]


def test_the_level_holds_for_both_and_libraries_that_chat_are_quiet() -> None:
    code = """
        import logging
        get_logger("worker").info("no")
        get_logger("worker").warning("ours")
        logging.getLogger("mine").info("no")
        logging.getLogger("mine").warning("theirs")
    """
    assert [line["event"] for line in lines_of(code, level="warning")] == ["ours", "theirs"]
    mcp = "import logging; logging.getLogger('httpx2').info('HTTP Request: POST http://x/mcp?key=secret')"
    assert lines_of(mcp) == []
    chat = "import logging; logging.getLogger('httpx').info('HTTP Request: POST'); logging.getLogger('mine').info('a')"
    assert [line["event"] for line in lines_of(chat)] == ["a"]
    assert [line["event"] for line in lines_of(chat, level="debug")] == ["HTTP Request: POST", "a"]


RAISES = """
    try:
        raise ValueError("the customer said: " + "sec" + "ret")
    except ValueError:
        get_logger("worker").exception("broke")
"""


def test_the_text_of_an_exception_is_content() -> None:
    (line,) = lines_of(RAISES)
    assert "secret" not in json.dumps(line)
    assert line["exception"].rstrip().endswith("ValueError")
    assert "<string>" in line["exception"]  # where it was raised
    (line,) = lines_of(RAISES, capture=True)
    assert "ValueError: the customer said: secret" in line["exception"]


def test_what_an_mcp_server_has_answered_is_content() -> None:
    """Its SDK logs what it cannot read as an exception that quotes it."""
    quotes = RAISES.replace('get_logger("worker")', 'logging.getLogger("mcp.client.stdio")')
    (line,) = lines_of("\n    import logging" + quotes)
    assert "secret" not in json.dumps(line)
    assert line["exception"].rstrip().endswith("ValueError")
    (line,) = lines_of("\n    import logging" + quotes, capture=True)
    assert "the customer said: secret" in line["exception"]
    mine = RAISES.replace('get_logger("worker")', 'logging.getLogger("mine")')
    (line,) = lines_of("\n    import logging" + mine)
    assert "the customer said: secret" in line["exception"]


def test_causes_are_shown_and_our_own_errors_with_their_text() -> None:
    (line,) = lines_of("""
        from parkway.runtime.settings import SettingsError
        try:
            try:
                raise ValueError("secret")
            except ValueError as error:
                raise SettingsError("use PARKWAY_X") from error
        except SettingsError as error:
            get_logger("worker").error("broke", exc_info=error)
    """)
    assert "SettingsError: use PARKWAY_X" in line["exception"]
    assert "ValueError" in line["exception"]
    assert "secret" not in line["exception"].replace('raise ValueError("secret")', "")


def test_no_colours_where_there_is_no_terminal() -> None:
    text = stderr_of(
        "import logging; get_logger('worker').warning('hello', a=1); logging.warning('there')", log_format="console"
    )
    assert "hello" in text
    assert "there" in text
    assert "\x1b" not in text
    assert not text.startswith("{")


def test_a_line_in_a_span_names_it() -> None:
    (line,) = lines_of("""
        from opentelemetry import trace
        context = trace.SpanContext(0xabc, 0xdef, is_remote=False)
        with trace.use_span(trace.NonRecordingSpan(context)):
            get_logger("worker").info("inside")
    """)
    assert line["trace_id"] == f"{0xABC:032x}"
    assert line["span_id"] == f"{0xDEF:016x}"


def test_lines_of_many_threads_stay_whole() -> None:
    lines = lines_of("""
        import logging, threading
        def say(number):
            for _ in range(200):
                get_logger("worker").info("x" * 200, number=number)
                logging.getLogger("mine").info("y" * 200)
        threads = [threading.Thread(target=say, args=(number,)) for number in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    """)
    assert len(lines) == 1600


def test_librdkafka_says_a_thing_once_a_minute() -> None:
    lines = lines_of("""
        import time
        from parkway.runtime.clients import group_consumer
        from parkway.runtime.settings import Settings
        name_process(namespace="acme", instance="w0")
        consumer = group_consumer(Settings(bootstrap_servers="127.0.0.1:1"), "acme.test", "acme.group")
        consumer.subscribe(["t"])
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            consumer.poll(0.1)
        consumer.close()
    """)
    said = [line for line in lines if line["component"] == "librdkafka"]
    refused = [line for line in said if "Connection refused" in line["event"]]
    assert len(refused) == 1
    assert refused[0]["level"] == "error"
    assert refused[0]["instance"] == "w0"
    assert "acme.test" in refused[0]["event"]


def test_lines_go_to_what_stderr_is_at_that_moment() -> None:
    lines = lines_of("""
        import io, logging, sys
        log = get_logger("worker")
        log.info("first")
        real, sys.stderr = sys.stderr, io.StringIO()
        log.info("elsewhere")
        logging.getLogger("mine").info("elsewhere")
        assert sys.stderr.getvalue().count("elsewhere") == 2
        sys.stderr.close()  # as the captured one of a test that is over
        sys.stderr = real
        log.info("second")
        logging.getLogger("mine").info("third")
    """)
    assert [line["event"] for line in lines] == ["first", "second", "third"]


def test_a_process_without_our_logs_gets_them_by_logging():
    """A library's lines stay out of its user's standard output."""
    code = (
        "import logging, sys\n"
        "from parkway.runtime.logs import configure_logs, get_logger\n"
        "log = get_logger('client').bind(topic='t')\n"
        "log.debug('hidden')\n"
        "log.warning('told', partition=3)\n"
        "logging.basicConfig(level=logging.DEBUG, format='%(name)s|%(message)s')\n"
        "log.debug('wanted')\n"
        "configure_logs('json', 'info')\n"
        "log.info('ours')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    told, wanted, ours = done.stderr.splitlines()
    assert told == "event='told' topic='t' partition=3"
    assert wanted == "parkway.client|event='wanted' topic='t'"
    assert json.loads(ours)["component"] == "client"
