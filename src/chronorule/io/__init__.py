"""Readers and writers of event logs."""

from chronorule.io.table import read_edges, read_events
from chronorule.io.write import write_events

__all__ = ["read_edges", "read_events", "write_events"]
