"""The generated code gives exactly CEL's value, or leaves the answer to the exact evaluator."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parkway.router.cel import TriggerEvaluationError, TriggerLoadError, compile_expression
from parkway.router.cel.check import Checker
from parkway.router.cel.errors import CelError
from parkway.router.cel.evaluate import boolean, evaluate
from parkway.router.cel.generate import generate
from parkway.router.cel.parse import parse

EVENT = {
    "id": "1",
    "type": "order.created",
    "attributes": {
        "n": 7,
        "d": 2.5,
        "s": "order_17",
        "flag": True,
        "none": None,
        "tags": ["a", "b"],
        "order": {"id": "o1", "lines": [{"sku": "x"}], "total": 120.0},
    },
}


@pytest.mark.parametrize(
    "text",
    [
        "type == 'order.created' && n > 5 && d < 3.0",
        "n >= 7 && 5 < n && n != 1 && n == 7",
        "flag && !(none != null) && flag == true",
        "has(order.id) && order.id == 'o1' && has(n) && !has(missing) && !has(order.missing.x)",
        "order.lines[0].sku == 'x' && order['id'] == 'o1'",
        "'a' in tags && n in [5, 7] && s in ['order_17'] && 'id' in order && n in tags == false",
        "size(tags) == 2 && s.size() > 3 && size(order) == 3",
        "s.startsWith('order') && s.endsWith('17') && s.contains('_') && s.matches('^order_[0-9]+$')",
        "s.matches('(order|offer)_') && matches(s, 'r_1')",
        "d * 2.0 == 5.0 && n + 1 == 8 && -n == -7 && n % 2 == 1",
        "n > 5 ? flag : none == 1",
        "string(n) == '7' && int(d) == 2 && double(n) == 7.0 && type(n) == type(1)",
        "tags == ['a', 'b'] && order.total == 120 && {'a': n} == {'a': 7} && s < 'p'",
        "timestamp('2026-01-01T00:00:00Z').getHours() == 0 && duration('1h') > duration('1m')",
        "n < d || n == 7",
        "b'a' == b'a' && 1u < 2u && 'abc'.contains('b')",
    ],
)
def test_it_answers_alone_when_nothing_is_an_error(text):
    def exactly(_event):
        raise AssertionError("the generated code gave up")

    tree, _ = parse(text)
    checker = Checker(text)
    checker.check(tree)
    assert generate(tree, checker.kinds, exactly)(EVENT) is True


def test_a_random_expression_is_exact(random_expressions, random_events):
    @settings(max_examples=400, deadline=None)
    @given(random_expressions, st.lists(random_events, min_size=1, max_size=4))
    def check(text, events):
        try:
            expression = compile_expression(text)
        except TriggerLoadError:
            return
        for event in events:
            try:
                exact = boolean(evaluate(expression.tree, event))
            except CelError:
                with pytest.raises(TriggerEvaluationError):
                    expression.evaluate(event)
            else:
                assert expression.evaluate(event) is exact

    check()


def test_an_expression_that_does_not_load_has_no_value(random_expressions, random_events):
    """What the static check says can never be boolean is an error for every event."""

    @settings(max_examples=300, deadline=None)
    @given(random_expressions, random_events)
    def check(text, event):
        try:
            compile_expression(text)
        except TriggerLoadError as error:
            if error.stage != "type" or "can never be boolean" not in error.reason:
                return
            with pytest.raises(CelError):
                boolean(evaluate(parse(text)[0], event))

    check()


@pytest.mark.parametrize("event", [{"id": "1", "type": "t"}, {"id": "1", "type": "t", "attributes": None}])
def test_an_event_without_attributes(event):
    assert compile_expression("type == 't' || x == 1").evaluate(event) is True
    with pytest.raises(TriggerEvaluationError):
        compile_expression("x == 1").evaluate(event)


def test_the_error_names_the_expression_and_the_reason():
    with pytest.raises(TriggerEvaluationError) as caught:
        compile_expression("retryCount > 0").evaluate({"id": "1", "type": "t", "attributes": {}})
    assert str(caught.value) == "no such field 'retryCount' in `retryCount > 0`"
