"""Learn readable temporal logic rules that explain when a target event happens, and weigh them exactly.

Names are imported at first use, so that `import chronorule` is quick and loads no compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chronorule.data import demo_log
    from chronorule.evaluate import Recovery, recovery
    from chronorule.events import EventLog, Exposure, Head, exposure
    from chronorule.grounding import Feature, Kernel, completions, decay, step, window
    from chronorule.io.table import read_edges, read_events, write_events
    from chronorule.learner import LearningProgress, RuleLearner
    from chronorule.model import RuleModel, Study, WeightedRule, reweigh
    from chronorule.model.store import load
    from chronorule.model.verify import verify
    from chronorule.pricing import Evidence, Oracle
    from chronorule.report import report_records, write_report
    from chronorule.rules import Relation, Rule, format_rule, parse_rule, parse_rules
    from chronorule.rules.canonical import implies, neighbours
    from chronorule.rules.counting import count_rules
    from chronorule.rules.description import description_length
    from chronorule.rules.enumeration import enumerate_rules
    from chronorule.rules.grammar import Grammar
    from chronorule.search.verify import Verdict
    from chronorule.simulate import Simulated, paper_suite, simulate

_HOMES = {
    "data": ["demo_log"],
    "events": ["EventLog", "Exposure", "Head", "exposure"],
    "evaluate": ["Recovery", "recovery"],
    "grounding": ["Feature", "Kernel", "completions", "decay", "step", "window"],
    "io.table": ["read_edges", "read_events", "write_events"],
    "learner": ["LearningProgress", "RuleLearner"],
    "model": ["RuleModel", "Study", "WeightedRule", "reweigh"],
    "model.store": ["load"],
    "model.verify": ["verify"],
    "pricing": ["Evidence", "Oracle"],
    "report": ["report_records", "write_report"],
    "rules": ["Relation", "Rule", "format_rule", "parse_rule", "parse_rules"],
    "rules.canonical": ["implies", "neighbours"],
    "rules.counting": ["count_rules"],
    "rules.description": ["description_length"],
    "rules.enumeration": ["enumerate_rules"],
    "rules.grammar": ["Grammar"],
    "search.verify": ["Verdict"],
    "simulate": ["Simulated", "paper_suite", "simulate"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "EventLog",
    "Evidence",
    "Exposure",
    "Feature",
    "Grammar",
    "Head",
    "Kernel",
    "LearningProgress",
    "Oracle",
    "Recovery",
    "Relation",
    "Rule",
    "RuleLearner",
    "RuleModel",
    "Simulated",
    "Study",
    "Verdict",
    "WeightedRule",
    "__version__",
    "completions",
    "count_rules",
    "decay",
    "demo_log",
    "description_length",
    "enumerate_rules",
    "exposure",
    "format_rule",
    "implies",
    "load",
    "neighbours",
    "paper_suite",
    "parse_rule",
    "parse_rules",
    "read_edges",
    "read_events",
    "recovery",
    "report_records",
    "reweigh",
    "simulate",
    "step",
    "verify",
    "window",
    "write_events",
    "write_report",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'chronorule' has no attribute '{name}'")
    value = getattr(import_module(f"chronorule.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
