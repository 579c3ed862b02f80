"""State and steps stay exactly once while transactions abort, partitions move and processes die, as the dice want."""

import asyncio
import random
from collections import defaultdict

import pytest
from memory_world import TOPICS, Input, Process, World

from parkway.schemas.state import StateRecord

KEYS, EACH = 4, 6


def world(seed: int) -> World:
    dice = random.Random(seed)
    inputs = [
        (
            f"k{number % KEYS}".encode(),
            Input(
                number=number,
                waits=[dice.choice([0, 0.002, 0.01]), dice.choice([0, 0.002, 0.01])],
                fails=dice.choice([0, 0, 0, 1, 3]),
            ),
        )
        for number in range(KEYS * EACH)
    ]
    return World(inputs, dice)


@pytest.mark.parametrize("seed", range(25))
async def test_exactly_once(seed: int) -> None:
    here = world(seed)
    here.trouble = 0.15
    processes = [Process(here), Process(here)]
    owner = processes[0]
    await owner.assign()
    for _ in range(12):
        await asyncio.sleep(here.dice.choice([0.002, 0.01, 0.03]))
        event = here.dice.choice(["rebalance", "rebalance", "move", "kill"])
        if event == "kill":
            owner.kill()
            processes[processes.index(owner)] = owner = Process(here)
        else:
            await owner.revoke()
            here.generation += 1
            if event == "move":
                (owner,) = [process for process in processes if process is not owner]
        await owner.assign()
    here.trouble = 0.0
    async with asyncio.timeout(30):
        while not here.all_done() or owner.held_steps():  # noqa: ASYNC110  a test's wait
            await asyncio.sleep(0.01)
    fails = [one for one in here.inputs if one.fails == 3]
    seen = defaultdict(list)
    for key, output in here.outputs():
        seen[key].append(output["seen"])
    assert here.ran_again == []
    assert here.live(TOPICS.parked) == {}
    states = {key: StateRecord.from_json(value).state["seen"] for key, value in here.live(TOPICS.state).items()}
    for key, found in seen.items():
        assert found == list(range(1, len(found) + 1))
        assert key is not None
        assert states[b"count/" + key] == len(found)
    assert len(here.logs[TOPICS.dlq]) == len(fails)
    assert sum(map(len, seen.values())) == KEYS * EACH - len(fails)
