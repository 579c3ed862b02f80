import pytest
from confluent_kafka import TopicPartition
from harness_agents import Support, ticket

from parkway.agents import Agent, ChatMessage, ChatRequestEvent, Context, Event, Source, action
from parkway.runtime.records import Record
from parkway.runtime.topology import TopicSpec
from parkway.runtime.transaction_errors import RecordRefusedError
from parkway.testing import ScriptedModel, SyncAgentTest
from parkway.testing.log_record import partition_of
from parkway.testing.memory.log import MemoryLog


@pytest.fixture
def log() -> MemoryLog:
    log = MemoryLog(2, lambda: 1_000)
    log.create([TopicSpec("a"), TopicSpec("small", {"max.message.bytes": "1000"})])
    return log


def record(topic: str, value: bytes | None = b"v", partition: int = 0, key: bytes | None = b"k") -> Record:
    return Record(topic, partition, key, value, [("h", "text")])


def test_records_and_offsets_are_written_together(log):
    told = []
    log.watch(told.append)
    delivered = log.write([record("a"), record("a"), record("a", partition=1)], "g", [TopicPartition("a", 0, 7, "m")])
    assert delivered == {("a", 0): 1, ("a", 1): 0}
    assert told == [{("a", 0), ("a", 1)}]
    assert log.committed("g", ("a", 0)) == (7, "m")
    assert log.committed("other", ("a", 0)) is None
    (first, second) = log.read("a", 0, 0, 10)
    assert (first.offset, second.offset, first.timestamp, first.headers) == (0, 1, 1_000, {"h": b"text"})
    assert log.read("a", 0, 1, 10) == [second]


@pytest.mark.parametrize(
    ("refused", "guilty", "why"),
    [(record("gone"), (1,), "there is no topic gone"), (record("small", b"x" * 950), (1,), "too large")],
)
def test_what_a_broker_would_refuse_is_refused_whole(log, refused, guilty, why):
    with pytest.raises(RecordRefusedError, match=why) as error:
        log.write([record("a"), refused], "g", [TopicPartition("a", 0, 1, "")])
    assert error.value.guilty == guilty
    assert log.end("a", 0) == 0
    assert log.committed("g", ("a", 0)) is None


def test_a_foreign_topic_gets_its_partition_by_the_key(log):
    log.write([record("a", partition=-1, key=b"some key")])
    assert log.end("a", partition_of(b"some key", 2, 0)) == 1


def test_a_record_without_a_key_takes_turns():
    assert [partition_of(None, 3, number) for number in range(4)] == [0, 1, 2, 0]


class Shouting(Agent):
    orders = Source("shop.orders", type="order")

    @action("order")
    async def shout(self, event: Event, ctx: Context) -> None:
        ctx.output("x" * event.attributes["size"])


def test_a_source_is_read_and_its_records_stand_in_the_trace():
    with SyncAgentTest(Shouting) as test:
        test.send(b'{"size": 3}', key="k", topic="shop.orders")
        test.run()
        assert test.outputs == ["xxx"]
        assert test.trace.path == ["shop.orders", "shout", "output"]


def test_a_result_that_is_too_large_is_replaced_and_its_neighbours_are_not():
    with SyncAgentTest(Shouting, partitions=1) as test:
        for size in (1, 3_000_000, 2):
            test.send(f'{{"size": {size}}}'.encode(), key="k", topic="shop.orders")
        test.run()
        assert test.outputs == ["x", "xx"]
        assert [(dead.reason, dead.attempts) for dead in test.dlq] == [("action_failed", 1)]
        assert "too large" in test.dlq[0].message


def test_a_reply_topic_replaces_outputs():
    models = {"assistant": ScriptedModel("hi")}
    with SyncAgentTest(Support, models=models, policies={"reply_topics": ["mine.replies"]}) as test:
        asked = ChatRequestEvent(model="assistant", messages=[ChatMessage.user("?")], id="r-1")
        test.send(asked, key="k", headers={"parkway-reply-to": "mine.replies"})
        test.send(asked, key="k", headers={"parkway-reply-to": "elsewhere"})
        test.run()
        assert [one.topic for one in test.all_records() if "replies" in one.topic] == ["mine.replies"]
        assert [response.request_id for response in test.responses] == ["r-1"]
        assert [dead.reason for dead in test.dlq] == ["unknown_reply_topic"]


def test_partitions_keep_together():
    with SyncAgentTest(Support, models={"assistant": ScriptedModel("ok", per_conversation=True)}, partitions=5) as test:
        for number in range(10):
            test.send(ticket(number), key=f"key-{number}")
        test.run()
        places: dict[bytes | None, set[int]] = {}
        for one in test.all_records():
            if one.topic != test.topics.parked:
                places.setdefault(one.key, set()).add(one.partition)
        assert all(len(partitions) == 1 for partitions in places.values())
        assert len(set().union(*places.values())) > 1
