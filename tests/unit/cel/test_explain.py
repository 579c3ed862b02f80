"""What an explanation says: every sub-expression, and the one sentence that decides."""

import json

import pytest
from hypothesis import given, settings

from parkway.router.cel import TriggerEvaluationError, TriggerLoadError, compile_trigger
from parkway.router.explain import explain, explain_trigger
from parkway.router.table import TriggerTable

EVENT = {
    "id": "7",
    "type": "order.created",
    "attributes": {"amount": 50, "customer": "c-1", "tags": ["eu"], "order": {"id": "o1"}, "flag": True, "number": 5},
}


def steps(step):
    yield step
    for part in step.parts:
        yield from steps(part)


def test_every_sub_expression_has_its_value_or_error():
    explained = explain_trigger(
        compile_trigger("type == 'order.created' && (amount > 100 || missing.x == 1) && order.id == 'o1'"), EVENT
    )
    shown = {step.text: step.shown for step in steps(explained.tree)}
    assert shown == {
        "type == 'order.created' && (amount > 100 || missing.x == 1) && order.id == 'o1'": "error: no such field 'missing'",
        "type == 'order.created'": "true",
        "type": "'order.created'",
        "amount > 100 || missing.x == 1": "error: no such field 'missing'",
        "amount > 100": "false",
        "amount": "50",
        "missing.x == 1": "error: no such field 'missing'",
        "missing.x": "error: no such field 'missing'",
        "missing": "error: no such field 'missing' (there are: amount, customer, tags, order, flag, number)",
        "order.id == 'o1'": "true",
        "order.id": "'o1'",
    }


@pytest.mark.parametrize(
    ("entry", "result", "reason"),
    [
        ("order.created", True, "`type == 'order.created'` is true (type is 'order.created')"),
        ("order.deleted", False, "`type == 'order.deleted'` is false (type is 'order.created')"),
        ("amount > 100", False, "`amount > 100` is false (amount is 50)"),
        ("flag && amount > 100 && customer == 'c-2'", False, "`amount > 100` is false (amount is 50)"),
        ("amount > 100 || customer == 'c-2'", False, "`amount > 100` is false (amount is 50); `customer == 'c-2'` is false (customer is 'c-1')"),
        ("amount == 1 || amount == 2 || amount == 3 || amount == 4 || amount == 5", False,
         "`amount == 1` is false (amount is 50); `amount == 2` is false (amount is 50); `amount == 3` is false (amount is 50); and 2 more"),
        ("amount > 100 || customer == 'c-1'", True, "`customer == 'c-1'` is true (customer is 'c-1')"),
        ("!(amount == 50)", False, "`amount == 50` is true (amount is 50)"),
        ("flag ? amount > 100 : missing", False, "`amount > 100` is false (amount is 50)"),
        ("missing == 1 ? true : flag", None, "`missing == 1` is an error: no such field 'missing'"),
        ("missing == 1 && flag", None, "`missing == 1` is an error: no such field 'missing'"),
        ("missing == 1 || amount > 100", None, "`missing == 1` is an error: no such field 'missing'"),
        ("missing == 1 && amount > 100", False, "`amount > 100` is false (amount is 50)"),
        ("attributes['number']", None, "`attributes['number']` is 5, which is no boolean"),
        ("number && flag", None, "`number` is 5, which is no boolean"),
        ("has(order.price)", False, "`has(order.price)` is false"),
        ("'us' in tags", False, "`'us' in tags` is false (tags is ['eu'])"),
        ("size(tags) == 2", False, "`size(tags) == 2` is false (size(tags) is 1)"),
        ("true", True, "`true` is true"),
        ("false || (amount > 1 && false)", False, "`amount > 1 && false` is false (amount > 1 is true)"),
    ],
)  # fmt: skip
def test_one_sentence_decides(entry, result, reason):
    explained = explain_trigger(compile_trigger(entry), EVENT)
    assert explained.result is result
    assert (explained.error is not None) is (result is None)
    assert explained.reason == reason


def test_which_action_fires_and_by_what():
    table = TriggerTable(
        [("late", ["amount > 1"]), ("named", ["amount > 2", "order.created"]), ("never", ["x == 1", "other"])]
    )
    explanation = explain(table, EVENT)
    assert explanation.fires == ("named", "late")
    assert [(each.action, each.fired_by and each.fired_by.entry) for each in explanation.actions] == [
        ("late", "amount > 1"),
        ("named", "order.created"),
        ("never", None),
    ]


def test_it_is_json():
    event = {**EVENT, "attributes": {**EVENT["attributes"], "big": 2**70, "x": {"y": [1.5, None]}}}
    entry = "timestamp(0) == timestamp(1) || b'a' == x || dyn({true: 1u}) == x || 0.0 / 0.0 == big || type(x) == big"
    written = json.dumps(explain(TriggerTable([("a", [entry])]), event).to_json(), allow_nan=False)
    assert "timestamp('1970-01-01T00:00:00Z')" in written
    assert '"true": 1' in written


def test_it_says_what_the_trigger_says(random_expressions, random_events):
    @settings(max_examples=150, deadline=None)
    @given(random_expressions, random_events)
    def check(text, event):
        try:
            trigger = compile_trigger(f"({text}) && true")
        except TriggerLoadError:
            return
        explained = explain_trigger(trigger, event)
        try:
            assert explained.result is trigger.evaluate(event)
        except TriggerEvaluationError:
            assert explained.result is None
        assert explained.reason
        json.dumps(explained.to_json(), allow_nan=False)

    check()
