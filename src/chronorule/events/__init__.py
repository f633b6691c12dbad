"""Event logs: what happened to whom and when, and when a head can happen."""

from chronorule.events.describe import Description
from chronorule.events.head import Exposure, Head, exposure
from chronorule.events.log import EventLog, LogNotes

__all__ = ["Description", "EventLog", "Exposure", "Head", "LogNotes", "exposure"]
