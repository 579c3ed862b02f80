"""JSON schemas of the records that are no events, by version, generated from their models.

`python -m parkway.schemas.json_schemas FOLDER` writes them as files.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from parkway.schemas.journal import JournalRecord
from parkway.schemas.parked import ParkedCancellation, ParkedRecord, ParkedStep
from parkway.schemas.plan import Plan
from parkway.schemas.replayed import ReplayMarker
from parkway.schemas.state import StateRecord
from parkway.schemas.versions import version_of

_MODELS: Final[dict[str, type[BaseModel]]] = {
    "parked": ParkedRecord,
    "parked_cancellation": ParkedCancellation,
    "parked_step": ParkedStep,
    "state": StateRecord,
    "journal": JournalRecord,
    "plan": Plan,
    "replay_marker": ReplayMarker,
}


def json_schemas() -> dict[str, dict[str, Any]]:
    """Name and version, such as `parked.v1`, -> JSON schema (2020-12) of what this version writes."""
    schemas = {}
    for name, model in _MODELS.items():
        versioned = f"{name}.v{version_of(model)}"
        schemas[versioned] = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:parkway:{versioned}",
            **model.model_json_schema(mode="serialization"),
        }
    return schemas


def write_to(folder: Path) -> None:
    """Write `<name>.v<version>.schema.json` for each. Files of other versions are left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in json_schemas().items():
        (folder / f"{name}.schema.json").write_text(json.dumps(schema, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    write_to(Path(sys.argv[1]))
