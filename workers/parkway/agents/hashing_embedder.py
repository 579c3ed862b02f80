"""`HashingEmbedder`: embeddings without a model, for demos and tests."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult, EmbeddingSettings
from pydantic_ai.embeddings.result import EmbedInputType

from parkway.agents.errors import AgentError

_WORD: Final = re.compile(r"\w+")
_SHORT: Final = 3  # characters; such words are mostly "the", "of", "is"
_SHORT_WEIGHT: Final = 0.2


class HashingEmbedder(EmbeddingModel):
    """No language model: a text's words, hashed into `dimensions` buckets. Needs no key and no network.

    It has **no semantics**: two texts are close as far as they share words, letter by letter. "car" and "automobile"
    have nothing to do with each other, nor have "park" and "parked". The same text gives the same embedding on every
    machine. Words of up to three letters count a fifth.
    """

    def __init__(self, dimensions: int = 512) -> None:
        """Raise AgentError for too few dimensions to tell texts apart."""
        if isinstance(dimensions, bool) or not isinstance(dimensions, int) or not 8 <= dimensions <= 16_384:
            raise AgentError(f"HashingEmbedder({dimensions!r}): a whole number from 8 to 16384")
        super().__init__()
        self.dimensions = dimensions

    @property
    def model_name(self) -> str:
        return f"words-{self.dimensions}"

    @property
    def system(self) -> str:
        return "hashing"

    async def embed(
        self, inputs: str | Sequence[str], *, input_type: EmbedInputType, settings: EmbeddingSettings | None = None
    ) -> EmbeddingResult:
        texts, _ = self.prepare_embed(inputs, settings)
        return EmbeddingResult(
            embeddings=[self._embedding(text) for text in texts],
            inputs=texts,
            input_type=input_type,
            model_name=self.model_name,
            provider_name=self.system,
        )

    def _embedding(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        counts = Counter(_WORD.findall(text.casefold()))
        for word, count in counts.items():
            number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            weight = (1 + math.log(count)) * (_SHORT_WEIGHT if len(word) <= _SHORT else 1.0)
            vector[(number >> 1) % self.dimensions] += weight if number & 1 else -weight
        length = math.sqrt(sum(each * each for each in vector))
        if not length:  # no words, or words that cancel out: still an embedding, close to nothing in particular
            vector[0] = length = 1.0
        return [each / length for each in vector]
