"""Kafka replaced by a log in memory: everything else of a router and its workers is the real thing."""
