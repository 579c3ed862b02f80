"""A doctor on a real broker: what it finds where something is wrong, and what it finds out about the broker itself."""

import json
from collections.abc import Callable
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from installation import Installation, Said, event, wait_for


def findings(said: Said) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.out.splitlines()]


def texts(found: list[dict[str, Any]], level: str, area: str) -> str:
    return "\n".join(f"{one['text']} -> {one['mend']}" for one in found if (one["level"], one["area"]) == (level, area))


def test_a_doctor_says_what_is_wrong_and_how_to_mend_it(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    empty = here.command("doctor", "--json", PARKWAY_NAMESPACE=f"{here.settings.namespace}-none")
    assert empty.code == 1
    assert "topics apply" in texts(findings(empty), "wrong", "topics")

    assert here.command("plan", "apply", str(here.plan_file), "--yes").code == 0
    here.emit(event("order", number=1))
    here.flush()
    before = findings(here.command("doctor", "--json"))
    assert "nobody runs it; 1 records not completed" in texts(before, "wrong", "groups")
    assert "nobody runs it; nothing waits" in texts(before, "warning", "groups")
    assert "no router has ever committed" in texts(before, "warning", "plan")
    assert "may run routers" in texts(before, "ok", "rights")

    here.router()
    here.worker()
    here.wait_read(here.topics.outputs, 1)
    here.wait_all_done()
    well = here.command("doctor", "--plan", str(here.plan_file))
    assert well.code == 0, well.out
    assert "the file's plan is the one in force" in well.out
    assert "all there, as `topics apply` makes them" in well.out
    assert well.err.startswith("0 wrong, ")
    assert here.command("doctor", "--strict").code == 1  # one broker

    outsider = Producer({"bootstrap.servers": here.settings.bootstrap_servers, "transactional.id": "outsider"})
    outsider.init_transactions(30)
    outsider.begin_transaction()
    outsider.produce(here.topics.dlq, b"pending", partition=0)
    outsider.flush()
    hung = here.command("doctor", "--json")
    assert f"{here.topics.dlq}/0: readers wait behind it" in texts(findings(hung), "wrong", "groups")
    lost = here.command("request", "show", "nobody-1")
    assert f"holds back what is newer in {here.topics.dlq}/0" in lost.err
    outsider.abort_transaction(30)

    dlq = ConfigResource(ResourceType.TOPIC, here.topics.dlq)
    small = ConfigEntry("max.message.bytes", "1000", incremental_operation=AlterConfigOpType.SET)
    dlq.add_incremental_config(small)
    here.admin.incremental_alter_configs([dlq])[dlq].result()
    here.admin.delete_topics([here.topics.events])[here.topics.events].result()
    wait_for("the topic is gone", lambda: here.topics.events not in here.admin.list_topics(timeout=10).topics)
    sick = here.command("doctor", "--json")
    assert sick.code == 1
    assert f"missing: {here.topics.events}" in texts(findings(sick), "wrong", "topics")
    assert "max.message.bytes is 1000, not 4300000" in texts(findings(sick), "warning", "topics")
    assert "kafka-configs" in texts(findings(sick), "warning", "topics")


def test_this_kafka_keeps_the_rules_and_the_probe_leaves_nothing_behind(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    asked = here.command("doctor", "--probe", answer="n\n")
    assert asked.code == 1
    probed = findings(here.command("doctor", "--probe", "--yes", "--json"))
    of_probe = [one for one in probed if one["area"] == "probe"]
    assert [one["level"] for one in of_probe] == ["ok"] * 8, of_probe
    assert any("ILLEGAL_GENERATION" in one["text"] for one in of_probe)
    scratch = f"{here.settings.namespace}.probe-"
    wait_for(
        "no topic is left", lambda: not [n for n in here.admin.list_topics(timeout=10).topics if n.startswith(scratch)]
    )
    groups = here.admin.list_consumer_groups(request_timeout=10).result().valid
    assert not [one for one in groups if one.group_id.startswith(scratch)]
