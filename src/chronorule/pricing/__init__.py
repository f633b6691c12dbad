"""Prices, rewards, gains and evidence: what adding a rule would bring at the λ in force (design 5 and 6)."""

from chronorule.pricing.effect import Effect, Rate
from chronorule.pricing.evidence import Evidence
from chronorule.pricing.oracle import Objective, Oracle, body_lengths, closed_form_gain

__all__ = ["Effect", "Evidence", "Objective", "Oracle", "Rate", "body_lengths", "closed_form_gain"]
