"""Agents in YAML, in the form of Flink Agents' YAML API where it has one: docs/agents/yaml.md."""

from parkway.agents.declarative.load import is_declared, load_declared
from parkway.agents.declarative.spec import document_schema

__all__ = ["document_schema", "is_declared", "load_declared"]
