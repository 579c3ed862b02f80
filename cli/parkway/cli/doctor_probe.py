"""Runs the probes in a scratch namespace, and says what each one means."""

import time
from collections.abc import Iterator

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from parkway.cli.findings import Finding, ok, unknown, warning, wrong
from parkway.cli.probe_scratch import ProbeError, Scratch, scratch
from parkway.cli.probes import PROBES, Probe
from parkway.runtime.settings import Settings
from parkway.schemas.errors import ParkwayError


def run_probes(settings: Settings, admin: AdminClient) -> Iterator[Finding]:
    """One finding for each rule; topics and groups are deleted afterwards."""
    with scratch(settings, admin) as place:
        for probe in PROBES:
            began = time.monotonic()
            finding = _run(probe, place)
            seconds = time.monotonic() - began
            yield Finding(finding.level, finding.area, f"{finding.text} ({seconds:.1f} s)", finding.mend)
        left = place.remove()
    if left:
        yield warning(
            "probe", f"topics that could not be deleted: {', '.join(left)}", "delete them (kafka-topics --delete)"
        )


def _run(probe: Probe, place: Scratch) -> Finding:
    try:
        return ok("probe", f"{probe.rule}: {probe.run(place)}")
    except ProbeError as error:
        if error.broken:
            return wrong("probe", f"{probe.rule}: NOT KEPT: {error}", probe.means)
        return unknown("probe", f"{probe.rule}: not found out: {error}")
    except KafkaException as failure:
        return unknown("probe", f"{probe.rule}: not found out: {failure.args[0].str()} ({failure.args[0].name()})")
    except ParkwayError as error:
        return unknown("probe", f"{probe.rule}: not found out: {error}")
