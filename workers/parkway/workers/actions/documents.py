"""Keeps the documents of a response within what one record may have."""

from typing import Final

from parkway.schemas import jsonio
from parkway.schemas.events import Document

MAX_RESPONSE_BYTES: Final = 900_000  # below the 1 MB that clients of Kafka read and write by default
CUT: Final = "parkway_cut"
_CUT_NOTE: Final = 64  # bytes that the note takes


def fitting(documents: list[Document], limit: int) -> list[Document]:
    """The best documents, whole, as many as have `limit` bytes of JSON together.

    When not even the best one fits, it comes alone and is cut: `parkway_cut` in its metadata says how many characters
    it had. A document whose metadata alone are too large stays as it is; Kafka will say so.
    """
    kept: list[Document] = []
    left = limit
    for document in documents:
        left -= _size(document) + 1  # and the comma
        if left < 0:
            break
        kept.append(document)
    return kept if kept or not documents else [_cut(documents[0], limit)]


def _cut(document: Document, limit: int) -> Document:
    room = limit - _size(document.model_copy(update={"content": ""})) - _CUT_NOTE
    low, high = 0, len(document.content)  # a character has 1 to 12 bytes of JSON, so the place is looked for
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _bytes(document.content[:middle]) <= room else (low, middle - 1)
    metadata = {**document.metadata, CUT: len(document.content)}
    return document.model_copy(update={"content": document.content[:low], "metadata": metadata})


def _size(document: Document) -> int:
    return _bytes(document.model_dump(mode="json"))


def _bytes(value: object) -> int:
    return len(jsonio.dumps(value))
