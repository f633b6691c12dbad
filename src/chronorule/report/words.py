"""Rules, certificates and rounds in plain words."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from chronorule.grounding import Feature
from chronorule.model import RuleModel, WeightedRule
from chronorule.model.weighted_rule import RuleLabel
from chronorule.model.words import above_zero, searched_before_the_last_change
from chronorule.rules import Rule
from chronorule.rules import order as orders
from chronorule.search.base import Certificate

AGAIN = {1: "", 2: " again", 3: " a third time"}

SAYS: dict[RuleLabel, tuple[str, str]] = {
    "says when": ("says when", "Holds within one and the same entity or group too: it tells when the head comes."),
    "marks which entities": (
        "says who",
        "Compared within one and the same entity or group it does not pass: it may only mark in whom the head is "
        "frequent.",
    ),
    "not tested": (
        "when or who: not tested",
        "A head that ends its own time at risk, as it happens once or not again until a reset, cannot be compared "
        "within one entity: whether the rule tells when the head comes, or only in whom, is not tested.",
    ),
    "does not pass": ("does not pass", "The evidence on this log is not enough to tell it from chance."),
    "not fitted": ("not fitted", "A person gave it its weight after the last fit: nothing else is known of it."),
}

GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "Entity, predicate, event",
        "Whom is watched (a patient, a case, a machine); what can happen; one occurrence of it.",
    ),
    ("Group", "Entities that belong together, such as stays of one patient; without groups, each entity by itself."),
    ("Head", "The predicate that the rules explain."),
    (
        "Rule",
        "A body of predicates with an order between them: A < B says that A comes before B, A = B that they come at "
        "the same instant, A & B asks for no order. An arrow ← raises the rate of the head, ↤ lowers it.",
    ),
    (
        "Match, completion",
        "A choice of one event for each predicate of the body that fits the order; it completes at its latest event, "
        "and counts from just after that.",
    ),
    ("Rate", "Heads per unit of time, while the head can happen."),
    (
        "Weight, rate ratio",
        "A rule of weight w multiplies the rate by e^w while it counts, a lowering one by e^−w: that is its rate "
        "ratio.",
    ),
    (
        "95 % interval",
        "From the standard error of the weight. Rules that were searched for on the same log look surer than they are.",
    ),
    (
        "Expected heads",
        "The sum of the rate over the time at risk. Without the rule: its own factor is left out and all else stays. "
        "With the rule: by the whole model.",
    ),
    (
        "Gain",
        "What the log-likelihood of the whole model loses without the rule, in nats: 3 nats make the data 20 times as "
        "likely.",
    ),
    (
        "Description length",
        "Nats that it takes to name a rule among all that were searched; the gain has to exceed it, by log(1/α).",
    ),
    ("Exposure, time at risk", "The part of the observation period in which the head can happen."),
    ("Base rate, frailty", "The rate without any rule, and how far that of one entity lies from that of others."),
    ("Grammar", "All rules that were allowed, and among which the search looked."),
    (
        "Certificate",
        "What the search has proved: that no rule of the grammar would do better, or how far it may be from the best.",
    ),
    (
        "Suggestive rule",
        "One of the best rules that were not admitted: a lead to follow with more data, not a finding, and not "
        "certified.",
    ),
)


def decimal(value: float, digits: int = 3) -> str:
    """A number for people: three figures that count, thousands apart."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    text = (
        f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}" if abs(value) >= 1e-4 else f"{value:.1e}"
    )
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def quoted(name: str) -> str:
    """A name as a sentence shows it: in quotes where it could be taken for more than a name."""
    return name if name.replace("_", "").replace("-", "").isalnum() else f"“{name}”"


def listed(words: Sequence[str], joint: str = "and") -> str:
    """One, two and three."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {joint} {words[-1]}"


def amount(value: float, unit: str) -> str:
    """12 hours, 1 hour, 3.5 units of time."""
    one, many = (
        ("unit of time", "units of time") if unit in ("time", "units of time") else (unit.removesuffix("s"), unit)
    )
    return f"{decimal(value)} {one if value == 1 else many}"


def condition(rule: Rule, statics: Collection[str] = ()) -> str:
    """When a rule has completed, as the beginning of a sentence."""
    timed = [k for k, members in enumerate(rule.classes) if members[0] not in statics]
    held = [quoted(name) for members in rule.classes for name in members if name in statics]
    who = f"In entities with {listed(held)}" if held else ""
    if not timed:
        return who
    instants = [_instant(rule, k) for k in timed]
    after = "after" if who else "After"
    if len(timed) == 1:
        when = f"{after} {instants[0]}"
    elif all(rule.predecessors[k].bit_count() == place for place, k in enumerate(timed)):
        when = f"{after} {instants[0]}, then {', then '.join(instants[1:])}"
    elif not any(rule.predecessors[k] for k in timed):
        when = f"{after} {listed(instants)}{', each' if len(timed) > 2 else ''} in any order"
    else:
        before = [
            f"{_instant(rule, below, short=True)} before {_instant(rule, k, short=True)}"
            for k in timed
            for below in orders.bits(rule.covers[k])
        ]
        when = f"{after} {listed(instants)} ({listed(before)})"
    return f"{who}, {when}" if who else when


def _instant(rule: Rule, place: int, short: bool = False) -> str:
    names = [
        quoted(name) + AGAIN.get(rank, f" for the {rank}th time")
        for name, rank in zip(rule.classes[place], rule.ranks[place], strict=True)
    ]
    if short or len(names) == 1:
        return names[0]
    return f"{listed(names)} at the same instant"


def duration(feature: Feature, unit: str) -> str:
    """How long a completion counts."""
    kernel = feature.kernel
    if kernel.name == "window":
        return f"for {amount(kernel.width, unit)}"
    if kernel.name == "decay":
        return f"at first, an effect that halves every {amount(math.log(2) / kernel.rate, unit)}"
    return "from then on"


def sentence(item: WeightedRule, feature: Feature, unit: str, statics: Collection[str] = ()) -> str:
    """What a weighted rule says, for somebody who has never seen one."""
    rule, head = item.rule, quoted(item.rule.head)
    constant = all(name in statics for name in rule.predicates)
    within = "" if feature.span is None or constant else f", all within {amount(feature.span, unit)}"
    lasting = "" if constant else f" {duration(feature, unit)}"
    start = condition(rule, statics) + within
    if item.weight == 0:
        return f"{start}, {head} comes at its usual rate: the weight of the rule is 0."
    rate = f"{decimal(item.ratio)} times"
    low, high = item.interval
    sure = (
        f"95 % interval {decimal(low)} to {decimal(high)}"
        if math.isfinite(item.stderr)
        else "without an interval: the weight stands at a bound, or cannot be told from others"
    )
    if feature.kind == "count" and not constant:
        return (
            f"{start}, the rate of {head} is multiplied by {decimal(item.ratio)} for each such match{lasting} ({sure})."
        )
    return f"{start}, {head} comes at {rate} its usual rate{lasting} ({sure})."


def certificate_words(model: RuleModel, certificate: Certificate) -> list[str]:
    """What is proved and what is not, sentence by sentence."""
    objective = {"gain": "gain", "gradient": "slope of the likelihood", "worth": "worth"}[certificate.objective]
    held = model.options.get("stop", "evidence") == "evidence"
    seconds = f"{certificate.seconds:.2g}" if certificate.seconds < 10 else f"{certificate.seconds:,.0f}"
    best = f"The best {objective} found is {certificate.incumbent:.2f}"
    if searched_before_the_last_change(model):
        first = [
            "Not proved: learning ended before it could search once more.",
            "The last search speaks of the rules as they were before the last round changed them.",
        ]
    elif certificate.optimal and certificate.incumbent <= 0:
        first = [
            f"Proved: no further rule {'passes' if held else above_zero(objective)}.",
            "The last search went through the whole grammar, and found no rule that would have been admitted beside "
            "those of the model.",
        ]
    elif certificate.optimal:
        first = [
            "Proved: no better rule was left out.",
            f"The last search went through the whole grammar: no rule of it {'passes and ' if held else ''}has a "
            f"higher {objective} than the {certificate.incumbent:.2f} of the best rule that was left out.",
        ]
    elif math.isinf(certificate.bound):
        first = [
            "Not proved.",
            "The search that was used cannot tell how good the rules are that it has not seen. "
            f"{best if certificate.incumbent > 0 else 'It found none that passes'}, and better rules may exist.",
        ]
    else:
        first = [
            "Not proved to the end: the search was stopped early.",
            f"{best if certificate.incumbent > 0 else 'No rule that passes was found so far'}. "
            f"It is proved that no rule of the grammar {'passes with' if held else 'has'} more than "
            f"{certificate.bound:.2f}: a gap of {100 * certificate.gap:.0f} %.",
        ]
    return [
        *first,
        f"The grammar: {certificate.grammar}.",
        f"The search looked at {certificate.nodes:,} partial rules and priced {certificate.evaluations:,} rules in "
        f"{seconds} seconds.",
        "A proof speaks of this log, this grammar and the weights of the model. It says nothing about causes, and "
        "nothing about other data.",
    ]


def overview_words(model: RuleModel) -> str:
    """The model in two sentences."""
    head = quoted(model.head.name)
    rules = len(model.rules)
    if rules == 0:
        told = f"No rule was admitted that explains when {head} happens."
    elif rules == 1:
        told = f"One rule explains when {head} happens."
    else:
        told = f"{rules} rules explain when {head} happens."
    if model.suggestive:
        count = len(model.suggestive)
        told += f" {'One more is' if count == 1 else f'{count} more are'} suggestive: not admitted, and not certified."
    return told
