"""The list of metrics in the docs is the list in the code, and what is defined is counted somewhere."""

import re
from pathlib import Path

from prometheus_client.metrics import MetricWrapperBase

from parkway.runtime import metrics

ROOT = Path(__file__).parents[3]
DOC = ROOT / "docs" / "observability.md"

DEFINED = {name: one for name, one in vars(metrics).items() if isinstance(one, MetricWrapperBase)}


def exposed_name(metric: MetricWrapperBase) -> str:
    """The name that people query: a counter's has `_total`, an info's `_info`."""
    suffix = {"counter": "_total", "info": "_info"}.get(metric._type, "")
    return metric._name + suffix


def rows() -> dict[str, tuple[str, ...]]:
    """Metric -> its labels, of the tables in the docs."""
    found = {}
    for name, labels in re.findall(r"^\| `(parkway_\w+)(?:\{([\w,]*)\})?`", DOC.read_text(), re.MULTILINE):
        found[name] = tuple(label for label in labels.split(",") if label)
    return found


def test_the_docs_name_every_metric_with_its_labels_and_no_other() -> None:
    expected = {exposed_name(one): tuple(one._labelnames) for one in DEFINED.values()}
    expected["parkway_plan_info"] = ("agent", "build")
    assert rows() == expected


def test_every_query_in_the_docs_names_metrics_that_exist() -> None:
    known = {exposed_name(one) for one in DEFINED.values()}
    for one in DEFINED.values():
        if one._type == "histogram":
            known |= {f"{one._name}_{part}" for part in ("bucket", "sum", "count")}
    documents = [DOC, ROOT / "docs" / "operations.md", ROOT / "README.md", ROOT / "docs" / "guarantees.md"]
    named = {name for document in documents for name in re.findall(r"\bparkway_[a-z_]+\b", document.read_text())}
    packages = {"parkway_"}
    assert named - known - packages == set()


def test_every_metric_says_what_to_do_and_is_counted_somewhere() -> None:
    sources = [
        path.read_text()
        for folder in ("runtime", "router", "workers", "cli")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "metrics.py"
    ]
    for name, metric in DEFINED.items():
        assert len(metric._documentation) > 30, name
        assert any(f"metrics.{name}" in source for source in sources), f"{name} is counted nowhere"
