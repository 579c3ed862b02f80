"""A Confluent schema registry, through confluent-kafka's own client (extra `parkway[registry]`)."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from parkway.schemas.avro.codec import RegistryUnavailableError
from parkway.schemas.avro.references import inlined
from parkway.schemas.errors import ParkwayError

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

T = TypeVar("T")

# The registry's own error codes; a plain 404 is a wrong URL.
_NO_SUCH_SUBJECT: Final = 40401
_NO_SUCH_SCHEMA: Final = 40403
_NOT_FOUND: Final = 404
_UNKNOWN_FOR: Final = 30.0  # seconds that an unknown id is not asked for again: ids come from outside
_UNKNOWN_KEPT: Final = 10_000
_MOST_REFERENCES: Final = 200
# A router stands still while it asks, so the client's own patience (no timeout at all) is cut.
_DEFAULTS: Final[Mapping[str, Any]] = {"timeout": 10, "max.retries": 2, "retries.wait.ms": 200}


class SchemaRegistry:
    """A `SchemaResolver` (parkway.schemas.avro). What the registry knows is asked for once.

    `url` may be a list, separated by commas. `options` go to confluent-kafka's client as they are
    (`basic.auth.user.info`, `ssl.ca.location`, `timeout` in seconds ...). Raises ParkwayError for options that the
    client refuses, or when the extra is not installed.
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._shown = ", ".join(_without_password(each) for each in url.split(","))
        self._client = _client({"url": url, **_DEFAULTS, **(options or {})}, self._shown)
        self._unknown: dict[int, float] = {}  # schema id -> when it may be asked for again

    def schema_id(self, subject: str, schema: str) -> int:
        """The id of `schema` under `subject`, registered when it is new. Raises RegistryUnavailableError.

        Whoever may only read can write Avro too, once the schemas are registered.
        """
        return self._ask(lambda: self._schema_id(subject, schema), f"register {subject}")

    def schema(self, schema_id: int) -> str | None:
        """The schema of that id as Avro's JSON, with those of other subjects that it refers to; None for an unknown id.

        Raises RegistryUnavailableError.
        """
        now = time.monotonic()
        if self._unknown.get(schema_id, 0.0) > now:
            return None
        text = self._ask(lambda: self._schema(schema_id), f"read schema {schema_id}")
        if text is None:
            if len(self._unknown) >= _UNKNOWN_KEPT:
                self._unknown.clear()
            self._unknown[schema_id] = now + _UNKNOWN_FOR
        return text

    def newest(self, subject: str) -> tuple[int, str] | None:
        """Id and Avro's JSON of the newest schema of a subject; None for one that is not there.

        Raises RegistryUnavailableError.
        """
        schema_id = self._ask(lambda: self._newest(subject), f"read {subject}")
        text = self.schema(schema_id) if schema_id is not None else None
        return (schema_id, text) if schema_id is not None and text is not None else None

    def close(self) -> None:
        self._client.close()

    def _newest(self, subject: str) -> int | None:
        from confluent_kafka.schema_registry import SchemaRegistryError  # noqa: PLC0415 - an extra

        try:
            return self._client.get_latest_version(subject).schema_id
        except SchemaRegistryError as error:
            if error.error_code == _NO_SUCH_SUBJECT:
                return None
            raise

    def _schema_id(self, subject: str, text: str) -> int:
        from confluent_kafka.schema_registry import Schema, SchemaRegistryError  # noqa: PLC0415 - an extra

        schema = Schema(text, "AVRO")
        try:
            found = self._client.lookup_schema(subject, schema).schema_id
        except SchemaRegistryError as error:
            if error.error_code not in {_NO_SUCH_SUBJECT, _NO_SUCH_SCHEMA}:
                raise
            found = None
        return self._client.register_schema(subject, schema) if found is None else found

    def _schema(self, schema_id: int) -> str | None:
        from confluent_kafka.schema_registry import SchemaRegistryError  # noqa: PLC0415 - an extra

        try:
            schema = self._client.get_schema(schema_id)
        except SchemaRegistryError as error:
            if error.error_code == _NO_SUCH_SCHEMA:
                return None
            raise
        text = schema.schema_str
        if text is None or not schema.references:
            return text
        return inlined(text, self._referenced(schema).values())

    def _referenced(self, schema: "Schema") -> dict[tuple[str, int], str]:
        """The schemas of other subjects that one refers to, and those that these refer to.

        One that is gone is left out: the schema cannot be parsed then, and its records are refused.
        """
        from confluent_kafka.schema_registry import SchemaRegistryError  # noqa: PLC0415 - an extra

        found: dict[tuple[str, int], str] = {}
        left = list(schema.references or ())
        while left and len(found) < _MOST_REFERENCES:
            one = left.pop()
            if one.subject is None or one.version is None or (one.subject, one.version) in found:
                continue
            try:
                other = self._client.get_version(one.subject, one.version).schema
            except SchemaRegistryError as error:
                if error.http_status_code != _NOT_FOUND:
                    raise
                continue
            found[one.subject, one.version] = other.schema_str or ""
            left += other.references or ()
        return found

    def _ask(self, question: Callable[[], T], what: str) -> T:
        try:
            return question()
        except Exception as error:  # the registry's answers, and everything that a network does
            detail = str(error) or type(error).__name__
            raise RegistryUnavailableError(f"schema registry {self._shown}: cannot {what}: {detail}") from error


def _client(conf: dict[str, Any], shown: str) -> "SchemaRegistryClient":
    try:
        from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ParkwayError(
            f"a schema registry needs more packages ({error}): pip install 'parkway[registry]'"
        ) from None
    try:
        return SchemaRegistryClient(conf)
    except (TypeError, ValueError) as error:
        raise ParkwayError(f"schema registry {shown}: {error}") from None


def _without_password(url: str) -> str:
    parts = urlsplit(url.strip())
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
