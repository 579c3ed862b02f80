"""What triggers cost: one evaluation, many triggers, loading, and hostile expressions.

    python benchmarks/triggers.py [--check]

All numbers are of one run on one machine; `--check` exits 1 when a ratio of the design is missed. The hand-
written side of each pair is the Python lambda that a careful person would write for the same condition over
the same dict. Other implementations of CEL are printed beside ours where they are installed.
"""

import argparse
import gc
import math
import re
import statistics
import sys
import time
import timeit
import tracemalloc
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from parkway.router.cel import TriggerLoadError, compile_expression, compile_trigger
from parkway.router.table import TriggerTable

Event = Mapping[str, Any]

EVALUATION_RATIO = 2.0
TABLE_RATIO = 3.0
COMPILE_SECONDS = 10.0
COMPILE_MEGABYTES = 100.0
HOSTILE_SECONDS = 0.5

EVENT: dict[str, Any] = {
    "id": "5f3c",
    "type": "order.created",
    "attributes": {
        "amount": 150,
        "total": 151.5,
        "limit": 100,
        "customer": "c-17",
        "owner": "c-17",
        "name": "order_123",
        "part": "er_1",
        "kind": "b",
        "kinds": ["a", "b"],
        "codes": [1, 2],
        "flag": True,
        "none": None,
        "tags": ["urgent", "eu"],
        "user_context": {"step": "triage", "kind": "issue", "part": "p-17"},
        "order": {"lines": [{"sku": "x-1", "count": 3}], "address": {"country": "DE"}},
        "created": "2026-01-31T12:00:00Z",
    },
}
HAND_NAMES = {
    "pattern": re.compile(r"^order_[0-9]+$"),
    "datetime": datetime,
    "new_year": datetime(2026, 1, 1, tzinfo=UTC),
}

# Condition, and the same by hand over the event's attributes `a`. What reads the event itself takes `e`.
PAIRS: list[tuple[str, str]] = [
    ("type == 'order.created'", "e['type'] == 'order.created'"),
    ("amount > 100", "a['amount'] > 100"),
    ("amount >= 100.5", "a['amount'] >= 100.5"),
    ("amount == 150", "a['amount'] == 150"),
    ("amount != 1", "a['amount'] != 1"),
    ("100 < total", "a['total'] > 100"),
    ("customer == 'c-17'", "a['customer'] == 'c-17'"),
    ("customer < 'd'", "a['customer'] < 'd'"),
    ("customer == owner", "a['customer'] == a['owner']"),
    ("limit < amount", "a['limit'] < a['amount']"),
    ("total > amount", "a['total'] > a['amount']"),
    ("flag == true", "a['flag'] is True"),
    ("flag && !(none != null)", "a['flag'] and a['none'] is None"),
    ("none == null", "a['none'] is None"),
    (
        "type == 'order.created' && amount > 100 && customer == 'c-17'",
        "e['type'] == 'order.created' and a['amount'] > 100 and a['customer'] == 'c-17'",
    ),
    ("customer == 'c-1' || amount > 100 || flag", "a['customer'] == 'c-1' or a['amount'] > 100 or a['flag']"),
    (
        "has(user_context.step) && user_context.step == 'triage'",
        "'step' in a.get('user_context', {}) and a['user_context']['step'] == 'triage'",
    ),
    ("has(missing) || flag", "'missing' in a or a['flag']"),
    ("!has(order.missing.deep)", "'deep' not in a.get('order', {}).get('missing', {})"),
    ("customer in ['c-1', 'c-17', 'c-20']", "a['customer'] in {'c-1', 'c-17', 'c-20'}"),
    ("amount in [1, 100, 150]", "a['amount'] in {1, 100, 150}"),
    ("'urgent' in tags", "'urgent' in a['tags']"),
    ("'step' in user_context", "'step' in a['user_context']"),
    ("kind in kinds", "a['kind'] in a['kinds']"),
    ("size(tags) > 1", "len(a['tags']) > 1"),
    ("name.startsWith('order_')", "a['name'].startswith('order_')"),
    ("name.contains('er_1') && name.endsWith('3')", "'er_1' in a['name'] and a['name'].endswith('3')"),
    ("name.contains(part)", "a['part'] in a['name']"),
    (r"name.matches(r'^order_\d+$')", "pattern.search(a['name']) is not None"),
    ("order.lines[0].sku == 'x-1'", "a['order']['lines'][0]['sku'] == 'x-1'"),
    ("total * 2.0 > 300.0", "a['total'] * 2.0 > 300.0"),
    ("amount + 1 > 100", "a['amount'] + 1 > 100"),
    ("amount % 7 == 3", "a['amount'] % 7 == 3"),
    ("amount > 100 ? flag : none == null", "a['flag'] if a['amount'] > 100 else a['none'] is None"),
    ("tags == ['urgent', 'eu']", "a['tags'] == ['urgent', 'eu']"),
    ("order.address == {'country': 'DE'}", "a['order']['address'] == {'country': 'DE'}"),
    ("codes == [1, 2]", "a['codes'] == [1, 2]"),
    (
        "attributes['customer'] == 'c-17' && order['address'].country == 'DE'",
        "a['customer'] == 'c-17' and a['order']['address']['country'] == 'DE'",
    ),
    (
        "!(type == EventType.ChatResponseEvent && user_context.kind == 'issue')",
        "not (e['type'] == '_chat_response_event' and a['user_context']['kind'] == 'issue')",
    ),
    (
        "timestamp(created) > timestamp('2026-01-01T00:00:00Z')",
        "datetime.fromisoformat(a['created']) > new_year",
    ),
]

HOSTILE = {
    "8,192 characters": "x == '" + "a" * (8192 - 7) + "'",
    "8,192 characters of conditions": " && ".join(["x == 1"] * 819),
    "10,000 quotes": "'" * 10_000,
    "8,000 quotes": "'\"" * 4_000,
    "deep parentheses": "(" * 4_000 + "1" + ")" * 4_000,
    "33 parentheses": "(" * 33 + "x" + ")" * 33 + " == 1",
    "deep negations": "!" * 8_000 + "x",
    "deep indexes": "x[" * 2_000 + "0" + "]" * 2_000,
    "a regex of repetitions": "x.matches('((((a{100}){100}){100}){100})')",
    "a regex bomb": "x.matches('(a+)+$')",
}
BOMB_TEXT = "a" * 100_000 + "b"


class Report:
    """Prints lines; remembers which of them miss their bar."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def bar(self, text: str, value: float, limit: float) -> None:
        holds = value <= limit
        print(f"{'ok  ' if holds else 'MISS'}  {text}")
        if not holds:
            self.missed.append(text)


def main() -> int:
    parser = argparse.ArgumentParser(description="What triggers cost.")
    parser.add_argument("--check", action="store_true", help="exit 1 when a ratio is missed")
    check = parser.parse_args().check
    report = Report()
    evaluation(report)
    others()
    many_triggers(report)
    loading(report)
    hostile(report)
    if report.missed:
        print(f"{len(report.missed)} missed")
    return 1 if check and report.missed else 0


def evaluation(report: Report) -> None:
    """Each pair in turn, best of five, so that both sides see the same machine."""
    print(f"one evaluation, {len(PAIRS)} conditions: ours, by hand, ratio")
    ratios = []
    for text, python in PAIRS:
        evaluate = compile_expression(text).evaluate
        by_hand = hand_written(python)
        assert evaluate(EVENT) is by_hand(EVENT) is True, text
        ours, theirs = _best(evaluate), _best(by_hand)
        ratios.append(ours / theirs)
        print(f"      {ours:6.0f} ns {theirs:6.0f} ns {ours / theirs:5.2f}x  {text}")
    report.bar(
        f"median {statistics.median(ratios):.2f}x of the hand-written lambda (at most {EVALUATION_RATIO}x), "
        f"worst {max(ratios):.2f}x",
        statistics.median(ratios),
        EVALUATION_RATIO,
    )


def hand_written(python: str) -> Callable[[Event], Any]:
    """The lambda, with every `a` spelt out, as nobody pays for a name that is used once."""
    body = re.sub(r"\ba(?=\[|\.| in)", "e['attributes']", python)
    body = re.sub(r"\bin a\b(?![\[.])", "in e['attributes']", body)
    function: Callable[[Event], Any] = eval(f"lambda e: {body}", dict(HAND_NAMES))
    return function


def _best(function: Callable[[Event], Any], *, number: int = 20_000, repeat: int = 5) -> float:
    """Nanoseconds of a call."""
    times = timeit.repeat(
        "function(event)", globals={"function": function, "event": EVENT}, number=number, repeat=repeat
    )
    return min(times) / number * 1e9


def others() -> None:
    text = "attributes.amount > 100 && attributes.customer == 'c-17'"
    print(f"other implementations, {text}")
    print(f"      {_best(compile_expression(text).evaluate) / 1e3:8.2f} us  parkway")
    try:
        from cel_expr_python import cel  # noqa: PLC0415  an oracle of the tests, not a dependency
    except ImportError:
        print("      the C++ runtime is not installed: pip install cel-expr-python")
    else:
        program = cel.NewEnv(variables={"attributes": cel.Type.DYN}).compile(text)
        runtime = _best(
            lambda event: program.eval(data={"attributes": event["attributes"]}).plain_value(), number=1_000
        )
        print(f"      {runtime / 1e3:8.2f} us  C++ runtime (cel-expr-python), event converted in each call")
    import celpy.adapter  # noqa: PLC0415  takes as long to import as all the rest
    import celpy.celparser  # noqa: PLC0415

    for runner in (celpy.InterpretedRunner, celpy.CompiledRunner):
        celpy.celparser.CELParser.CEL_PARSER = None  # it keeps the tree class of the runner before
        environment = celpy.Environment(runner_class=runner)
        evaluator = environment.program(environment.compile(text))
        activation = {"attributes": celpy.adapter.json_to_cel(EVENT["attributes"])}
        cost = _best(lambda _, run=evaluator, given=activation: run.evaluate(given), number=200, repeat=3)  # type: ignore[misc]
        print(f"      {cost / 1e3:8.2f} us  cel-python {runner.__name__}, event converted before")


def many_triggers(report: Report) -> None:
    """10,000 triggers against 10 of the same kind, with the same hits."""
    kinds: dict[str, Callable[[int], str]] = {
        "equality": lambda i: f"type == 'order.created' && customer == 'c-{i}' && amount > 100",
        "in": lambda i: f"type == 'order.created' && customer in ['c-{i}', 'd-{i}'] && amount > 100",
        "type": lambda i: f"type == 'order.{i}' && customer == 'c-17'",
        "path": lambda i: f"order.address.country == 'DE' && user_context.part == 'p-{i}' && amount > {i}",
        "guarded": lambda i: f"has(customer) && customer == 'c-{i}' && amount > {i}",
    }
    without = {**EVENT, "attributes": {**EVENT["attributes"]}}
    del without["attributes"]["customer"]
    events = {"": EVENT, ", field missing": without}
    for kind, make in kinds.items():
        tables = {
            "": {count: _table(make, count, None) for count in (10, 10_000)},
            ", errors counted": {count: _table(make, count, lambda *_: None) for count in (10, 10_000)},
        }
        for counted, sizes in tables.items():
            for missing, event in events.items():
                if counted and not missing:
                    continue
                assert sizes[10].match(event) == sizes[10_000].match(event)
                few, many = _best_matches(sizes[10], sizes[10_000], event)
                report.bar(
                    f"{kind}{missing}{counted}: 10,000 triggers {many:.2f} us, 10 triggers {few:.2f} us an event: "
                    f"{many / few:.2f}x (at most {TABLE_RATIO}x), {len(sizes[10].match(event))} hits",
                    many / few,
                    TABLE_RATIO,
                )


def _table(make: Callable[[int], str], count: int, on_error: Any) -> TriggerTable:
    """`count` triggers that all differ; the one that fits the event is among both the few and the many."""
    return TriggerTable([(f"a{i}", [make(i + 10)]) for i in range(count)], on_error)


def _best_matches(few: TriggerTable, many: TriggerTable, event: Event) -> tuple[float, float]:
    """Microseconds of a match by each table, taken in turn."""
    best = [math.inf, math.inf]
    for _ in range(9):
        for side, table in enumerate((few, many)):
            best[side] = min(best[side], timeit.timeit(lambda match=table.match: match(event), number=1_000) * 1e3)
    return best[0], best[1]


def loading(report: Report) -> None:
    texts = [f"type == 'order.created' && customer == 'c-{i}' && amount > {i}" for i in range(10_000)]
    compile_trigger("x == 1")  # the grammar is built once
    started = time.process_time()
    triggers = [compile_trigger(text) for text in texts]
    seconds = time.process_time() - started
    del triggers
    gc.collect()
    tracemalloc.start()
    triggers = [compile_trigger(text) for text in texts[:1_000]]
    megabytes = tracemalloc.get_traced_memory()[0] * (len(texts) / len(triggers)) / 1e6
    tracemalloc.stop()
    length = statistics.mean(map(len, texts))
    report.bar(
        f"loading 10,000 distinct triggers of {length:.0f} characters: {seconds:.2f} s "
        f"(at most {COMPILE_SECONDS:.0f} s)",
        seconds,
        COMPILE_SECONDS,
    )
    report.bar(f"they hold {megabytes:.0f} MB (at most {COMPILE_MEGABYTES:.0f} MB)", megabytes, COMPILE_MEGABYTES)
    started = time.process_time()
    TriggerTable([(f"a{i}", [text]) for i, text in enumerate(texts)])
    print(f"      the table of them, loading included: {time.process_time() - started:.2f} s")


def hostile(report: Report) -> None:
    for name, text in HOSTILE.items():
        started = time.process_time()
        try:
            trigger = compile_trigger(text)
        except TriggerLoadError as error:
            said = f"refused, {error.stage}"
        else:
            said = "loads"
            if "bomb" in name:
                answer = trigger.evaluate({**EVENT, "attributes": {"x": BOMB_TEXT}})
                said = f"answers {answer} for 100,000 characters"
        seconds = time.process_time() - started
        report.bar(
            f"{name}: {said} in {seconds * 1e3:.0f} ms (at most {HOSTILE_SECONDS * 1e3:.0f} ms)",
            seconds,
            HOSTILE_SECONDS,
        )


if __name__ == "__main__":
    sys.exit(main())
