"""The Helm chart, rendered with three value files, against Kubernetes' own schemas and what routers and workers need."""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from parkway.runtime import http
from parkway.runtime.settings import Settings

HELM = Path(__file__).parents[2] / "deploy" / "helm"
CHART, EXAMPLES = HELM / "parkway", HELM / "examples"
FILES = ["minimal", "production", "plan-file"]
# No kinds of Kubernetes itself.
CUSTOM = {"ScaledObject", "PodMonitor", "PrometheusRule"}
KUBERNETES = "1.31"

pytestmark = pytest.mark.requires("helm")

Objects = dict[tuple[str, str], dict[str, Any]]


def _helm(*words: str) -> subprocess.CompletedProcess[str]:
    helm = shutil.which("helm")
    assert helm is not None
    return subprocess.run([helm, *words], capture_output=True, text=True, timeout=60, check=False)


def _files(name: str) -> list[str]:
    plan = ["--set-file", f"plan.json={CHART.parents[2] / 'tests' / 'golden' / 'records' / 'plan.v1.json'}"]
    return ["--values", str(EXAMPLES / f"{name}.yaml"), *(plan if name == "plan-file" else [])]


@cache
def _rendered(name: str, *more: str) -> Objects:
    done = _helm("template", "support", str(CHART), "--namespace", "agents", *_files(name), *more)
    assert done.returncode == 0, done.stderr
    objects = [one for one in yaml.safe_load_all(done.stdout) if one]
    found = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    assert len(found) == len(objects), "two objects of one kind and name"
    return found


def _of(objects: Objects, kind: str) -> list[dict[str, Any]]:
    return [one for (found, _), one in objects.items() if found == kind]


def _pods(objects: Objects) -> list[dict[str, Any]]:
    return [one["spec"]["template"] for kind in ("StatefulSet", "Job") for one in _of(objects, kind)]


def _env(pod: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in pod["spec"]["containers"][0]["env"]}


@pytest.mark.parametrize("name", FILES)
def test_lint(name: str) -> None:
    done = _helm("lint", str(CHART), "--strict", *_files(name))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("more", [(), ("--is-upgrade",)], ids=["install", "upgrade"])
@pytest.mark.parametrize("name", FILES)
def test_objects_are_what_kubernetes_takes(name: str, more: tuple[str, ...]) -> None:
    objects = _rendered(name, *more)
    assert objects
    for (kind, _), one in objects.items():
        assert one["metadata"]["namespace"] == "agents"
        if kind not in CUSTOM:
            kubernetes_validate.validate(one, KUBERNETES, strict=True)


@pytest.mark.parametrize("name", FILES)
def test_processes_are_stateful_sets_with_names_of_their_own(name: str) -> None:
    objects = _rendered(name)
    for one in _of(objects, "StatefulSet"):
        spec = one["spec"]
        assert spec["podManagementPolicy"] == "Parallel"
        assert ("Service", spec["serviceName"]) in objects
        labels = spec["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"].items() <= labels.items()
        assert _env(spec["template"])["PARKWAY_INSTANCE"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    selectors = [json.dumps(one["spec"]["selector"]) for one in _of(objects, "StatefulSet")]
    assert len(set(selectors)) == len(selectors)


@pytest.mark.parametrize("name", FILES)
def test_probes_ask_what_processes_serve(name: str) -> None:
    for one in _of(_rendered(name), "StatefulSet"):
        (container,) = one["spec"]["template"]["spec"]["containers"]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container[probe]["httpGet"]["path"] in http._HEALTH
        startup = container["startupProbe"]
        environment = _env(one["spec"]["template"])
        # It may wait a session timeout for a dead predecessor of its name.
        assert startup["periodSeconds"] * startup["failureThreshold"] > float(environment["PARKWAY_SESSION_TIMEOUT"])
        grace = one["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        assert grace >= float(environment["PARKWAY_DRAIN"]) + 15


@pytest.mark.parametrize("name", FILES)
def test_pods_are_restricted(name: str) -> None:
    """As the Pod Security Standard `restricted` asks, and with a read-only root."""
    for pod in _pods(_rendered(name)):
        security, (container,) = pod["spec"]["securityContext"], pod["spec"]["containers"]
        assert security["runAsNonRoot"]
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert container["resources"]["limits"]["memory"]
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        assert mounts == {volume["name"] for volume in pod["spec"]["volumes"]}


@pytest.mark.parametrize("name", FILES)
def test_variables_are_settings(name: str) -> None:
    known = {f"PARKWAY_{field.upper()}" for field in Settings.model_fields}
    for pod in _pods(_rendered(name)):
        ours = {one for one in _env(pod) if one.startswith("PARKWAY_") and not one.startswith("PARKWAY_KAFKA_")}
        assert ours <= known


def test_secrets_are_referred_to_and_each_role_has_its_own() -> None:
    objects = _rendered("production")
    for component, secret in {
        "router": "parkway-router",
        "worker-chat": "parkway-worker",
        "worker-tool": "parkway-worker",
    }.items():
        environment = _env(objects["StatefulSet", f"support-parkway-{component}"]["spec"]["template"])
        assert environment["PARKWAY_KAFKA_SASL_PASSWORD"] == {"secretKeyRef": {"name": secret, "key": "password"}}
        assert environment["PARKWAY_KAFKA_SSL_CA_LOCATION"] == "/etc/parkway/ca/ca.crt"
    job = objects["Job", "support-parkway-topics"]["spec"]["template"]
    assert _env(job)["PARKWAY_KAFKA_SASL_USERNAME"] == {"secretKeyRef": {"name": "parkway-operator", "key": "username"}}
    assert not _of(objects, "Secret")

    def provider_keys(component: str) -> list[str]:
        pod = objects["StatefulSet", f"support-parkway-{component}"]["spec"]["template"]["spec"]
        return [one["secretRef"]["name"] for one in pod["containers"][0].get("envFrom", [])]

    assert provider_keys("router") == []  # a router calls no model
    assert provider_keys("worker-chat") == ["openai"]
    assert provider_keys("worker-tool") == ["openai", "crm-api"]


def test_keda_scales_by_our_own_lag() -> None:
    objects = _rendered("production")
    scaled = objects["ScaledObject", "support-parkway-worker-chat"]["spec"]
    workers = objects["StatefulSet", scaled["scaleTargetRef"]["name"]]
    assert "replicas" not in workers["spec"]  # else every upgrade would undo what KEDA did
    (trigger,) = scaled["triggers"]
    assert (
        'sum(parkway_worker_lag{namespace="agents", pod=~"support-parkway-worker-chat-[0-9]+"})'
        in (trigger["metadata"]["query"])
    )
    assert (scaled["minReplicaCount"], scaled["maxReplicaCount"]) == (2, 24)
    assert [one["metadata"]["name"] for one in _of(objects, "ScaledObject")] == ["support-parkway-worker-chat"]
    assert objects["StatefulSet", "support-parkway-worker-tool"]["spec"]["replicas"] == 4


def test_a_new_plan_comes_into_force_after_the_new_workers() -> None:
    first = _commands(_rendered("production"))
    assert [line.split()[1:3] for line in first["topics"]] == [
        ["plan", "build"],
        ["topics", "apply"],
        ["plan", "apply"],
    ]
    assert "--partitions 48" in first["topics"][1]
    upgrade = _rendered("production", "--is-upgrade", "--set", "plan.retire={chat,tool}")
    commands = _commands(upgrade)
    assert [line.split()[1:3] for line in commands["topics"]] == [["plan", "build"], ["topics", "apply"]]
    assert "--partitions" not in commands["topics"][1]
    assert commands["plan"][1] == 'parkway plan apply --yes --retire chat --retire tool "$plan"'
    hooks = {one["metadata"]["name"]: one["metadata"]["annotations"]["helm.sh/hook"] for one in _of(upgrade, "Job")}
    assert hooks == {"support-parkway-topics": "pre-install,pre-upgrade", "support-parkway-plan": "post-upgrade"}


def test_a_plan_from_a_file_restarts_routers_only() -> None:
    objects = _rendered("plan-file")
    assert not _of(objects, "Job")
    config = objects["ConfigMap", "support-parkway-plan"]
    assert json.loads(config["data"]["plan.json"])["v"] == 1
    router = objects["StatefulSet", "support-parkway-router"]["spec"]["template"]
    assert router["spec"]["containers"][0]["args"] == ["router", "--plan", "/etc/parkway/plan/plan.json"]
    assert {"name": "plan", "configMap": {"name": "support-parkway-plan"}} in router["spec"]["volumes"]
    worker = objects["StatefulSet", "support-parkway-worker-all"]["spec"]["template"]
    assert "checksum/plan" in router["metadata"]["annotations"]
    assert "checksum/plan" not in worker["metadata"]["annotations"]
    assert _env(worker)["PARKWAY_KAFKA_CLIENT_RACK"] == "eu-west-1a"
    assert _env(worker)["PARKWAY_PARKED_DIR"] == "/parked"
    assert not _of(objects, "NetworkPolicy")


def test_alerts_and_dashboard_are_those_of_the_project() -> None:
    objects = _rendered("production")
    deploy = HELM.parent
    rule = objects["PrometheusRule", "support-parkway"]["spec"]
    assert rule == yaml.safe_load((deploy / "prometheus" / "alerts.yaml").read_text())
    board = objects["ConfigMap", "support-parkway-dashboard"]["data"]["parkway.json"]
    assert board == (deploy / "grafana" / "parkway.json").read_text()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["agent=support:Support"], "kafka.bootstrapServers is required"),
        (["kafka.bootstrapServers=k:9092"], "agent is required"),
        (["agent=support.py", "kafka.bootstrapServers=k:9092"], "agent"),
        (["agent=a:B", "kafka.bootstrapServers=k:9092", "plan.source=file"], "--set-file plan.json=plan.json"),
        (["agent=a:B", "kafka.bootstrapServers=k:9092", "router.replica=2"], "replica"),
        (["agent=a:B", "kafka.bootstrapServers=k:9092", "workers.all.scaling.min=0"], "min"),
    ],
)
def test_wrong_values_are_named(values: list[str], said: str) -> None:
    done = _helm("template", "support", str(CHART), *(word for value in values for word in ("--set", value)))
    assert done.returncode != 0
    assert said in done.stderr


def _commands(objects: Objects) -> dict[str, list[str]]:
    """What each Job runs, without the lines that set a variable."""
    found = {}
    for job in _of(objects, "Job"):
        (script,) = job["spec"]["template"]["spec"]["containers"][0]["args"]
        lines = [line for line in script.splitlines() if line.startswith("parkway")]
        found[job["metadata"]["labels"]["app.kubernetes.io/component"]] = lines
    return found
