"""Weighted rules as a model: fitted on a log, read by people, asked about other logs."""

from chronorule.model.rule_model import RuleModel
from chronorule.model.study import Fit, Study
from chronorule.model.weigh import reweigh, weigh
from chronorule.model.weighted_rule import WeightedRule

__all__ = ["Fit", "RuleModel", "Study", "WeightedRule", "reweigh", "weigh"]
