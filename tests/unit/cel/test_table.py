"""From an event to actions: the order, the errors, and an index that changes nothing but the time."""

from hypothesis import given, settings
from hypothesis import strategies as st

from parkway.router.cel import TriggerEvaluationError
from parkway.router.table import SAMPLES, TriggerTable


def event(event_type="order.created", **attributes):
    return {"id": "1", "type": event_type, "attributes": attributes}


def test_type_names_first_then_expressions_each_in_plan_order():
    table = TriggerTable(
        [
            ("by-expression", ["x == 1"]),
            ("by-name", ["other", "order.created"]),
            ("by-both", ["x == 1", "order.created"]),
            ("late-expression", ["type == 'order.created' && x > 0"]),
        ]
    )
    assert table.match(event(x=1)) == ["by-name", "by-both", "by-expression", "late-expression"]
    assert table.match(event("elsewhere", x=1)) == ["by-expression", "by-both"]
    assert table.match(event("elsewhere", x=0)) == []


def test_an_action_fires_once():
    table = TriggerTable([("a", ["order.created", "order.created", "x == 1", "x > 0"])])
    assert table.match(event(x=1)) == ["a"]


def test_an_error_counts_as_false_and_is_told():
    errors = []
    table = TriggerTable(
        [("a", ["x.y > 1", "x == 1"]), ("b", ["missing > 1"])],
        on_error=lambda action, trigger, error: errors.append((action, trigger, type(error))),
    )
    assert table.match(event(x=1)) == ["a"]
    assert errors == [("a", "x.y > 1", TriggerEvaluationError), ("b", "missing > 1", TriggerEvaluationError)]


def test_after_a_hit_nothing_more_of_the_action_is_tried():
    errors = []
    table = TriggerTable(
        [("a", ["x == 1", "missing > 1"]), ("b", ["order.created", "missing > 1"])],
        on_error=lambda *error: errors.append(error),
    )
    assert table.match(event(x=1)) == ["b", "a"]
    assert errors == []


def test_a_missing_field_is_an_error_also_behind_the_index():
    errors = []
    table = TriggerTable(
        [
            ("missing", ["type == 'order.created' && customer == 'c1' && x == 1"]),
            ("absorbed", ["type == 'order.created' && customer == 'c1' && x == 2"]),
            ("guarded", ["has(customer) && customer == 'c1'"]),
        ],
        on_error=lambda action, *_: errors.append(action),
    )
    assert table.match(event(x=1)) == []
    assert errors == ["missing"]


def test_type_names_alone_decide():
    table = TriggerTable(
        [
            ("name", ["a", "b"]),
            ("expression", ["type == 'b' && x == 1"]),
            ("both", ["c", "type == 'c' && x == 1"]),
        ]
    )
    assert table.match_type("a") == ["name"]
    assert table.match_type("b") is None
    assert table.match_type("c") == ["both"]
    assert table.match_type("unknown") == []


def test_an_expression_for_any_type_leaves_nothing_to_names_alone():
    table = TriggerTable([("name", ["a"]), ("any", ["x == 1"])])
    assert table.match_type("a") is None
    assert table.match_type("unknown") is None
    assert TriggerTable([("both", ["a", "x == 1"])]).match_type("a") == ["both"]


def test_equality_in_the_index_is_cels():
    actions = [
        (f"a{number}", [f"x == {constant} && true"])
        for number, constant in enumerate(["1", "1.0", "1u", "true", "'1'", "null", "0", "false", "-0.0", "''"])
    ]
    table = TriggerTable(actions)
    assert table.match(event(x=1)) == table.match(event(x=1.0)) == ["a0", "a1", "a2"]
    assert table.match(event(x=True)) == ["a3"]
    assert table.match(event(x="1")) == ["a4"]
    assert table.match(event(x=None)) == ["a5"]
    assert table.match(event(x=0)) == table.match(event(x=-0.0)) == ["a6", "a8"]
    assert table.match(event(x=False)) == ["a7"]
    for other in ([1], {"a": 1}, float("nan"), 2**70, -(2**70)):
        assert table.match(event(x=other)) == []


def test_ten_thousand_triggers_ask_as_few_as_ten(monkeypatch):
    asked = []

    def table_of(count):
        table = TriggerTable(
            [(f"a{i}", [f"type == 'order.created' && customer == 'c{i}' && x > 0"]) for i in range(count)]
        )
        find = table._index.find
        monkeypatch.setattr(
            table._index, "find", lambda event: asked.append(len((found := find(event)).could_fire)) or found
        )
        return table

    for count in (10, 3_000):
        assert table_of(count).match(event(customer="c7", x=1)) == ["a7"]
    assert asked == [1, 1]


def test_a_missing_field_is_false_where_another_conjunct_is():
    errors = []
    table = TriggerTable(
        [(f"a{i}", [f"customer == 'c{i}' && region == 'r{i % 3}' && kind == 'k'"]) for i in range(300)],
        on_error=lambda action, *_: errors.append(action),
    )
    assert table.match(event(region="elsewhere", kind="k")) == errors == []
    assert table.match(event(region="r1", kind="other")) == errors == []
    assert table.match(event(region="r1", kind="k")) == []
    assert errors == [f"a{i}" for i in range(1, 1 + 3 * SAMPLES, 3)]
    errors.clear()
    table.match(event(kind="k"))
    assert len(errors) == SAMPLES


def test_one_error_is_found_among_many_that_are_false():
    errors = []
    table = TriggerTable(
        [(f"a{i}", [f"customer == 'c{i}' && amount > {i}"]) for i in range(200, 0, -1)],
        on_error=lambda action, *_: errors.append(action),
    )
    assert table.match(event(amount=2)) == []
    assert errors == ["a1"]


def test_nobody_is_asked_for_errors_that_nobody_counts(monkeypatch):
    table = TriggerTable([(f"a{i}", [f"customer == 'c{i}' && x > 0"]) for i in range(1_000)])
    for _, (trigger,) in table.triggers:
        monkeypatch.setattr(trigger.expression, "evaluate", None)
    assert table.match(event(x=1)) == []


CONSTANTS = ["1", "1.0", "true", "'a'", "'b'", "null", "2u", "9007199254740993", "9007199254740992.0", "[1]"]
VALUES = [1, 1.0, True, False, "a", "b", None, 2, 2**53, 2**53 + 1, float(2**53), 2**70, [1], {"y": "a"}, {}]
FIELDS = ["x", "y", "x.y", "attributes['x']", "id"]
constants = st.sampled_from(CONSTANTS)
fields = st.sampled_from(FIELDS)
conditions = st.recursive(
    st.one_of(
        st.builds("{} == {}".format, fields, constants),
        st.builds("{} == {}".format, constants, fields),
        st.builds("{} in [{}, {}]".format, fields, constants, constants),
        st.builds("{} != {}".format, fields, constants),
        st.builds("{} > {}".format, fields, constants),
        st.sampled_from(["type == 'a'", "type in ['a', 'b']", "type != 'a'", "has(x)", "has(x.y)", "x", "true"]),
    ),
    lambda smaller: st.one_of(
        st.builds("({} && {})".format, smaller, smaller),
        st.builds("({} || {})".format, smaller, smaller),
        st.builds("(!({}))".format, smaller),
    ),
    max_leaves=6,
)
entries = st.one_of(st.sampled_from(["a", "b"]), conditions.map("({}) && true".format))
events = st.builds(
    lambda event_type, attributes: event(event_type, **attributes),
    st.sampled_from(["a", "b", "c"]),
    st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(VALUES)),
)


def plainly(table, event):
    """What DESIGN 5.4 says, without an index. Errors in no order."""
    errors = []

    def fires(action, trigger):
        try:
            return trigger.evaluate(event)
        except TriggerEvaluationError:
            errors.append((action, trigger.entry))
            return False

    by_name = [
        name for name, triggers in table.triggers if any(t.kind == "event-type" and t.evaluate(event) for t in triggers)
    ]
    by_expression = [
        name
        for name, triggers in table.triggers
        if name not in by_name and any(fires(name, t) for t in triggers if t.kind == "expression")
    ]
    return by_name + by_expression, sorted(errors)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(entries, max_size=3), max_size=6), st.lists(events, min_size=1, max_size=5))
def test_the_index_changes_nothing(triggers, events):
    errors = []
    table = TriggerTable(
        [(f"a{number}", each) for number, each in enumerate(triggers)],
        on_error=lambda action, trigger, _: errors.append((action, trigger)),
    )
    for one in events:
        errors.clear()
        names = table.match(one)
        assert (names, sorted(errors)) == plainly(table, one)
        decided = table.match_type(one["type"])
        assert decided is None or decided == names
