"""Alert rules and dashboard: every metric and label that they name exists, and Prometheus takes them."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram, Info
from prometheus_client.metrics import MetricWrapperBase

from parkway.runtime import metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yaml"
DASHBOARD = DEPLOY / "grafana" / "parkway.json"
# Labels that Prometheus gives to what it scrapes.
TARGET_LABELS = {"job", "instance", "namespace", "pod"}


def _series() -> dict[str, set[str]]:
    """Every series that our metrics make -> its labels."""
    found: dict[str, set[str]] = {}
    for metric in vars(metrics).values():
        if not isinstance(metric, MetricWrapperBase):
            continue
        name, labels = metric._name, set(metric._labelnames)
        if isinstance(metric, Counter):
            found[f"{name}_total"] = labels
        elif isinstance(metric, Histogram):
            found |= {f"{name}_bucket": labels | {"le"}, f"{name}_sum": labels, f"{name}_count": labels}
        elif isinstance(metric, Info):
            found[f"{name}_info"] = labels | {"agent", "build"}
        elif isinstance(metric, Gauge):
            found[name] = labels
    return found


def _alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    return group["rules"]


def _panels() -> Iterator[dict[str, Any]]:
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        if panel["type"] != "row":
            yield panel


def _expressions() -> list[tuple[str, str]]:
    """(where, expression) of all rules and panels."""
    panels = [(panel["title"], target["expr"]) for panel in _panels() for target in panel["targets"]]
    return [(alert["alert"], alert["expr"]) for alert in _alerts()] + panels


def _named(expression: str) -> Iterator[tuple[str, set[str]]]:
    """The series of an expression, each with the labels in its braces."""
    for name, _, selector in re.findall(r"(parkway_\w+)(\{([^}]*)\})?", expression):
        yield name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))


@pytest.mark.parametrize(("where", "expression"), _expressions())
def test_every_metric_and_label_exists(where: str, expression: str) -> None:
    known = _series()
    named = list(_named(expression))
    assert named, f"{where} names no metric of ours"
    grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")}
    labels: set[str] = set()
    for name, selected in named:
        assert name in known, f"{where}: there is no {name}"
        assert selected <= known[name] | TARGET_LABELS, f"{where}: {name} has no {selected - known[name]}"
        labels |= known[name]
    assert grouped <= labels, f"{where}: nothing has {grouped - labels}"


def test_alerts_say_what_to_do() -> None:
    for alert in _alerts():
        assert alert["labels"]["severity"] in {"warning", "critical"}
        assert alert["annotations"]["summary"]
        assert alert["annotations"]["description"]
    documented = (DEPLOY.parent / "docs" / "deploying.md").read_text()
    assert [alert["alert"] for alert in _alerts() if alert["alert"] not in documented] == []


def test_the_dashboard_is_whole() -> None:
    board = json.loads(DASHBOARD.read_text())
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]}
    assert len(places) == len(ids)
    assert {variable["name"] for variable in board["templating"]["list"]} == {"datasource", "job"}
    for panel in _panels():
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])


@pytest.mark.requires("promtool")
def test_prometheus_takes_the_rules() -> None:
    _promtool("check", "rules", "alerts.yaml")
    _promtool("test", "rules", "alerts_test.yaml")


@pytest.mark.requires("promtool")
def test_prometheus_takes_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    rules = [
        {"record": f"dashboard:{number}", "expr": _without_variables(expression)}
        for number, (_, expression) in enumerate(_expressions())
    ]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    _promtool("check", "rules", str(tmp_path / "rules.yaml"))


@pytest.mark.requires("promtool")
def test_prometheus_takes_the_configuration_of_the_compose_file(tmp_path: Path) -> None:
    text = (DEPLOY / "compose" / "prometheus.yml").read_text().replace("/etc/prometheus/alerts.yaml", str(ALERTS))
    (tmp_path / "prometheus.yml").write_text(text)
    _promtool("check", "config", str(tmp_path / "prometheus.yml"))


def _without_variables(expression: str) -> str:
    return expression.replace("$__rate_interval", "5m").replace("$job", ".*")


def _promtool(*words: str) -> None:
    done = subprocess.run(
        ["promtool", *words], capture_output=True, text=True, timeout=60, check=False, cwd=ALERTS.parent
    )
    assert done.returncode == 0, done.stdout + done.stderr
