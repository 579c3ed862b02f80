from harness_agents import Flaky, Support, ticket

from parkway.agents import Event
from parkway.testing import CallTool, ScriptedModel, SyncAgentTest


def test_a_run_as_a_tree():
    models = {"assistant": ScriptedModel(CallTool("lookup", {"customer": "c1"}), "It is paid.")}
    with SyncAgentTest(Support, models=models) as test:
        test.send(ticket(), key="c1")
        test.run()
        assert test.trace.lines == [
            'ticket t-1 [c1] {"customer":"c1","amount":200,"text":"Where is it?"}',
            "  triage",
            '    _chat_request_event assistant: "Where is it?"',
            "      chat",
            '        _tool_request_event lookup({"customer":"c1"})',
            "          tool",
            '            _tool_response_event gave {"customer":"c1","plan":"gold"}',
            "              chat (resumed)",
            '                _chat_response_event "It is paid."',
            "                  answer",
            '                    output {"of":"t-1","text":"It is paid."}',
        ]
        assert test.trace.path[:4] == ["ticket", "triage", "_chat_request_event", "chat"]
        (tool,) = test.trace.all("tool")
        assert [child.name for child in tool.children] == ["_tool_response_event"]
        assert test.trace.all("output")[0].value == {"of": "t-1", "text": "It is paid."}


def test_failures_and_dead_letters_stand_where_they_happened():
    with SyncAgentTest(Flaky) as test:
        test.send(Event("job", {"number": 1, "fails": 5}, id="j-1"), key="a")
        test.send({"type": "_made_up", "id": "m-1"}, key="a")
        test.send(b"{", key="a")
        test.run()
        lines = test.trace.lines
        assert lines[:2] == ['job j-1 [a] {"number":1,"fails":5}', "  work"]
        assert lines[2].startswith("    DLQ action_failed: ConnectionError: attempt 3")
        assert lines[3:5] == [
            "_made_up m-1 [a]",
            "  DLQ unknown_type: type '_made_up' begins with '_' and is none of ours",
        ] or lines[4].startswith("  DLQ unknown_type: ")
        assert lines[5].startswith("DLQ invalid_json: ")


def test_a_failed_response_says_why():
    models = {"assistant": ScriptedModel(ValueError("broken"))}
    with SyncAgentTest(Support, models=models) as test:
        test.send(ticket(), key="c1")
        test.run()
        (response,) = test.trace.all("_chat_response_event")
        assert response.text.startswith("_chat_response_event failed: internal: model 'function:scripted'")


def test_events_without_an_id_have_their_place_too():
    with SyncAgentTest(Flaky) as test:
        test.send({"type": "job", "attributes": {"number": 1}}, key="a")
        test.run()
        assert test.trace.path == ["job", "work", "output"]
