"""What a probe's outcome is said to be."""

from confluent_kafka import KafkaError, KafkaException

from parkway.cli.doctor_probe import _run
from parkway.cli.findings import Level
from parkway.cli.probe_scratch import ProbeError, Scratch
from parkway.cli.probes import Probe


def _probe(outcome: Exception | str) -> Probe:
    def run(_: Scratch) -> str:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return Probe("fenced", run, "answers could come twice")


def test_a_rule_that_is_broken_is_wrong_and_says_what_that_means() -> None:
    found = _run(_probe(ProbeError("both can commit")), None)
    assert (found.level, found.mend) == (Level.WRONG, "answers could come twice")
    assert "NOT KEPT: both can commit" in found.text


def test_what_could_not_be_found_out_is_no_broken_rule() -> None:
    for failure in (ProbeError("no rights", broken=False), KafkaException(KafkaError(KafkaError._TIMED_OUT))):
        found = _run(_probe(failure), None)
        assert found.level is Level.UNKNOWN
        assert "not found out" in found.text


def test_a_rule_that_is_kept_says_what_was_seen() -> None:
    found = _run(_probe("refused by FENCED"), None)
    assert (found.level, found.text) == (Level.OK, "fenced: refused by FENCED")
