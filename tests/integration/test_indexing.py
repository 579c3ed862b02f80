"""A worker goes on before what it has restored is indexed, and over a rebalance in the middle of that."""

from collections.abc import Callable

from installation import Installation, event, wait_for

from parkway.schemas.parked import Origin, ParkedRecord, parked_key
from parkway.schemas.tokens import Token, new_secret

COUNT = 60_000
CHATS = 20
BROKEN = (b"broken-1/chat", b"broken-2/chat")


def other(number: int) -> bytes:
    """A chat that waits until the year 2096."""
    return ParkedRecord(
        build="b",
        action="chat",
        record_key=None,
        origin=Origin(topic="x", partition=0, offset=0),
        request={"id": f"other-{number}", "type": "_chat_request_event", "attributes": {}},
        request_hash="hash",
        round=1,
        waits_for=f"nobody-{number}",
        deadline=4_000_000_000_000,
        state={"text": "x" * 300},
    ).to_json()


def test_chats_go_on_while_the_index_of_all_others_is_made(install: Callable[..., Installation]) -> None:
    here = install("agents:Replies", partitions=1)
    here.router()
    first = here.worker("w0", "chat")
    secret = new_secret()
    for number in range(CHATS):
        message = {"role": "user", "content": f"1 rounds for {number}"}
        request = event("_chat_request_event", f"chat-{number}", model="assistant", messages=[message])
        here.emit(request, partition=0, headers={"parkway-cancel-secret": secret} if number == 0 else {})
    here.flush()
    wait_for("all wait for their tools", lambda: len(here.parked()) == CHATS, 60)
    first.terminate()
    first.wait(60)
    for number in range(COUNT):
        key = parked_key(f"other-{number}", "chat").decode()
        here.emit(other(number), topic=here.topics.parked, key=key, partition=0)
    for broken in BROKEN:
        here.emit(b"not a record", topic=here.topics.parked, key=broken.decode(), partition=0)
    here.emit(event("_cancel_request_event", token=str(Token("chat", 0, secret))))
    here.flush()

    here.worker("w1")
    wait_for("the restore", lambda: [one for one in here.log_lines("w1") if one.get("parked", 0) > COUNT], 60)
    here.worker("w2")
    here.wait_members(here.topics.worker_group("chat"), 2)

    here.wait_read(here.topics.outputs, CHATS, 60)
    here.wait_all_done()
    ends = [one.json["attributes"] for one in here.read(here.topics.outputs)]
    types = {one["request_id"]: (one["error"] or {}).get("type", "success") for one in ends}
    assert len(ends) == CHATS
    assert types == {f"chat-{number}": "success" if number else "cancelled" for number in range(CHATS)}
    dead = here.wait_read(here.topics.dlq, len(BROKEN))
    assert {one.key for one in dead} == set(BROKEN)
    wait_for("what was broken is gone", lambda: len(here.parked()) == COUNT)
    assert [one for one in here.log_lines("w1") if one["event"] == "parked_indexed"], "else nothing was tested"
