"""A producer that dies fatally is made anew, and the outcome of its last transaction is found out."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from faults import FaultyProducer
from installation import Installation
from test_transactions import Member, record, values

from parkway.runtime import clients, transactions
from parkway.runtime.instance import InstanceError
from parkway.runtime.plan_mark import PlanMark
from parkway.runtime.recovery import RecoveringProducer
from parkway.runtime.transaction_errors import AbortedError, FatalTransactionError
from parkway.runtime.transactions import TransactionalProducer


@pytest.fixture
def here(install: Any, monkeypatch: pytest.MonkeyPatch) -> Installation:
    monkeypatch.setattr(clients, "Producer", FaultyProducer)
    return install("agents:Orders")


@pytest.fixture
def member(here: Installation) -> Iterator[Member]:
    one = Member(here.settings, "m1", here.topics.requests).join()
    yield one
    one.consumer.close()


@pytest.fixture
def commit(here: Installation, member: Member) -> Any:
    """Commit one record and an offset that grows; the mark is one of a kind."""
    producer = RecoveringProducer(
        here.settings, f"{here.settings.namespace}.p", f"{here.settings.namespace}.group", "pod-7"
    )
    producer.open()
    numbers = count(1)

    def run(value: bytes) -> None:
        number = next(numbers)
        mark = str(PlanMark("b", "stamp", number))
        offsets = [TopicPartition(here.topics.requests, one, 1, mark) for one in (0, 1)]
        producer.commit([record(here, value)], offsets, member.metadata)

    return run


@pytest.mark.parametrize("where", ["before_begin", "after_flush", "after_send_offsets", "before_commit"])
def test_what_was_not_committed_may_be_produced_again(here: Installation, commit: Any, where: str) -> None:
    commit(b"0")
    FaultyProducer.arm(f"{where}:fatal@1")
    with pytest.raises(AbortedError):
        commit(b"1")
    commit(b"1")
    assert values(here) == [b"0", b"1"]


@pytest.mark.parametrize("where", ["before_send_offsets", "after_send_offsets"])
def test_a_call_that_hangs_costs_its_producer_and_nothing_else(
    here: Installation, commit: Any, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(b"0")
    monkeypatch.setattr(transactions, "_HANGS", 1.0)
    FaultyProducer.arm(f"{where}:hang@1")
    with pytest.raises(AbortedError, match="never returned"):
        commit(b"1")
    commit(b"1")
    assert values(here) == [b"0", b"1"]


def test_what_was_committed_is_known_to_be(here: Installation, commit: Any) -> None:
    commit(b"0")
    FaultyProducer.arm("after_commit:fatal@1")
    commit(b"1")
    commit(b"2")
    assert values(here) == [b"0", b"1", b"2"]


def test_fatal_errors_in_a_row_end_in_one(here: Installation, commit: Any) -> None:
    for _ in range(4):
        FaultyProducer.arm("before_commit:fatal@1")
        with pytest.raises(AbortedError):
            commit(b"1")
    FaultyProducer.arm("before_commit:fatal@1")
    with pytest.raises(FatalTransactionError, match="injected"):
        commit(b"1")


def test_one_fence_is_mended_and_a_second_one_names_the_instance(here: Installation, commit: Any) -> None:
    def fence() -> None:
        TransactionalProducer(here.settings, f"{here.settings.namespace}.p").open()

    fence()
    with pytest.raises(AbortedError):
        commit(b"1")
    commit(b"1")
    fence()
    with pytest.raises(InstanceError, match="'pod-7'"):
        commit(b"2")
    assert values(here) == [b"1"]
