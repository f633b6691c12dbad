"""Rules: what they are and how they are written, what is next to a rule, and which rules may be generated."""

from chronorule.rules.canonical import implies, key, neighbours
from chronorule.rules.counting import count_rules
from chronorule.rules.description import chain_description_lengths, description_length, predicate_lists
from chronorule.rules.enumeration import enumerate_rules
from chronorule.rules.grammar import Grammar
from chronorule.rules.language import (
    Relation,
    Rule,
    RuleLine,
    Style,
    format_rule,
    parse_rule,
    parse_rules,
)

__all__ = [
    "Grammar",
    "Relation",
    "Rule",
    "RuleLine",
    "Style",
    "chain_description_lengths",
    "count_rules",
    "description_length",
    "enumerate_rules",
    "format_rule",
    "implies",
    "key",
    "neighbours",
    "parse_rule",
    "parse_rules",
    "predicate_lists",
]
