"""Rules: what they are and how they are written, what is next to a rule, and which rules may be generated."""

from chronorule.rules.language import (
    Relation,
    Rule,
    RuleLine,
    Style,
    format_rule,
    parse_rule,
    parse_rules,
)

__all__ = ["Relation", "Rule", "RuleLine", "Style", "format_rule", "parse_rule", "parse_rules"]
