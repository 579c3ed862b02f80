"""What must hold after chaos: one right answer for each request, nothing left over."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from installation import Read


@dataclass(frozen=True, slots=True)
class Request:
    """A chat request as it was sent: the rule of the model makes its answer known beforehand."""

    id: str
    rounds: int
    number: int

    @property
    def text(self) -> str:
        return f"{self.rounds} rounds for {self.number}"

    @property
    def answer(self) -> str:
        numbers = range(self.number, self.number + self.rounds)
        seen = [f'{{"number":{number},"price":{number * 10}}}' for number in numbers]
        return f"{self.number}: {seen}"


@dataclass(slots=True)
class Verdict:
    """Counts, and what is wrong, one line each."""

    answered: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def judge(requests: Iterable[Request], outputs: Iterable[Read], parked: int, dead: Iterable[Read]) -> Verdict:
    """`outputs` and `dead` as a read_committed reader sees them."""
    verdict = Verdict()
    responses: dict[str, list[dict[str, object]]] = {}
    for record in outputs:
        attributes = record.json["attributes"]
        responses.setdefault(attributes["request_id"], []).append(attributes)
    known = {request.id: request for request in requests}
    for request in known.values():
        given = responses.get(request.id, [])
        if len(given) != 1:
            verdict.wrong.append(f"request {request.id}: {len(given)} terminal responses")
            continue
        verdict.answered += 1
        _judge_one(request, given[0], verdict)
    verdict.wrong += [f"a response to {stray!r}, which nobody sent" for stray in responses.keys() - known.keys()]
    if parked:
        verdict.wrong.append(f"{parked} parked records are left")
    verdict.wrong += [
        f"dead letter: {record.headers.get('parkway-error-type', b'').decode()}: "
        f"{record.headers.get('parkway-error-message', b'').decode()[:200]}"
        for record in dead
    ]
    return verdict


def _judge_one(request: Request, response: dict[str, object], verdict: Verdict) -> None:
    if not response["success"]:
        error = response["error"]
        assert isinstance(error, dict)
        verdict.failed[str(error["type"])] += 1
        verdict.wrong.append(f"request {request.id} failed, which no injected fault explains: {json.dumps(error)}")
        return
    message = response["response"]
    assert isinstance(message, dict)
    if message["content"] != request.answer:
        verdict.wrong.append(f"request {request.id}: {message['content']!r} instead of {request.answer!r}")
