"""Weighted rules as a model: fitted on a log, read by people, asked about other logs."""

from chronorule.model.rule_model import Learned, RuleModel, checked_model
from chronorule.model.study import Fit, Study
from chronorule.model.weigh import reweigh, weigh
from chronorule.model.weighted_rule import WeightedRule

__all__ = ["Fit", "Learned", "RuleModel", "Study", "WeightedRule", "checked_model", "reweigh", "weigh"]
