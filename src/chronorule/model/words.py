"""What learning proved and how it ended, in words for people."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from chronorule.master import SETTLED
from chronorule.model.weighted_rule import format_table, number

if TYPE_CHECKING:
    from chronorule.model.rule_model import RuleModel
    from chronorule.search.base import Certificate

COLUMNS = 80
MOST_SUGGESTIVE = 5  # that the text shows; the model holds more
STOPPED = {
    "time limit": "stopped early, at the time limit",
    "interrupted": "stopped early, at your request",
    "max_rules": "stopped at the number of rules asked for (max_rules)",
}


def paragraph(text: str) -> str:
    """Text in lines of at most 80 columns."""
    return textwrap.fill(text, COLUMNS, subsequent_indent="  ", break_on_hyphens=False)


def learning_words(model: RuleModel) -> list[str]:
    """Sentences on how learning went, what it proved and why it ended; none where rules were given and weighed."""
    found = []
    if model.rounds:
        found.append(_rounds(model))
    if model.stopped is not None:
        found.append(f"{stopped_words(model)}.")
    if model.certificate is not None:
        found.append(proof(model, model.certificate))
    return found


def proof(model: RuleModel, certificate: Certificate) -> str:
    """What the last search proved about the rules that are not in the model."""
    within = f"the grammar: {certificate.grammar}"
    work = f"{counted(certificate.nodes, 'node')} searched in {certificate.seconds:.2f} s"
    objective, best = certificate.objective, certificate.incumbent
    held = model.options.get("stop", "evidence") == "evidence"
    passes = "passes" if held else above_zero(objective)
    if searched_before_the_last_change(model):
        return "not certified: learning ended before it could search once more with these rules."
    if certificate.optimal and best <= 0:
        return f"certified: no other rule {passes}, of all rules of {within} ({work})."
    if certificate.optimal:
        return (
            f"certified: no other rule {'passes and ' if held else ''}has a {objective} above the {number(best, 1)} of "
            f"the best rule left out, of all rules of {within} ({work})."
        )
    known = f"the best found has {number(best, 1)}" if best > 0 else "none was found"
    if math.isinf(certificate.bound):
        return f"not certified: other rules of {within} may pass; {known} ({work}, without a bound)."
    return (
        f"not certified: the search ended early. No other rule {'that passes ' if held else ''}has a {objective} above "
        f"{number(certificate.bound, 1)}; {known}, a gap of {100 * certificate.gap:.0f} %, of all rules of {within} "
        f"({work})."
    )


def above_zero(objective: str) -> str:
    """What no rule does at the optimum of the paper's problem (design 4 and 6)."""
    slope = f"{SETTLED:.0e}".replace("-0", "-")
    return f"has a {objective} above 0 by more than the {slope} per head to which weights are settled"


def stopped_words(model: RuleModel) -> str:
    """Why learning ended before it was done, and what was left to do."""
    proved = model.certificate is not None and model.certificate.optimal and model.certificate.incumbent <= 0
    if proved and not searched_before_the_last_change(model):
        left = "rules that stand better once all weights are found again were not looked for to the end"
    else:
        left = "more rules may pass"
    return f"{STOPPED[model.stopped]}: {left}" if model.stopped in STOPPED else f"stopped early ({model.stopped})"


def searched_before_the_last_change(model: RuleModel) -> bool:
    """Whether the last search is the one with which the last round began: it then speaks of the rules before it."""
    return bool(model.rounds) and model.rounds[-1].certificate == model.certificate


def honest_words(model: RuleModel) -> str:
    """How likely rules without truth agree so well with the half of the groups that did not choose them."""
    values = [f"{place}: {item.p_value:.2g}" for place, item in enumerate(model.rules, start=1)]
    return f"p-values, one-sided, in the half that did not choose the rules: {', '.join(values)}."


def suggestive_table(model: RuleModel) -> str:
    """The best rules that were not admitted, under a heading that says what they are."""
    shown = model.suggestive[:MOST_SUGGESTIVE]
    left = len(model.suggestive) - len(shown)
    beside = "as if it alone were added to the rules above" if model.rules else "as if it were the only rule"
    heading = paragraph(
        f"suggestive rules: the best that were not admitted, each weighed {beside}. Nothing is certified about them."
    )
    more = f"\n\nand {left} more, in the model's suggestive rules" if left else ""
    return f"{heading}\n\n{format_table(shown, within=bool(model.options.get('within')))}{more}"


def counted(count: int, one: str) -> str:
    """1 round, 2 rounds."""
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def _rounds(model: RuleModel) -> str:
    changes = (
        (sum(len(item.added) for item in model.rounds), "added"),
        (sum(len(item.dropped) for item in model.rounds), "dropped"),
        (sum(len(item.polished) for item in model.rounds), "exchanged for a neighbour"),
    )
    parts = [f"{counted(total, 'rule')} {done}" for total, done in changes if total]
    return f"learned in {counted(len(model.rounds), 'round')}: {', '.join(parts)}."
