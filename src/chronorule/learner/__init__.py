"""Learning: rules found one after another, weighed together and repaired, until a search proves that none is left."""

from chronorule.learner.progress import LearningProgress
from chronorule.learner.rule_learner import RuleLearner

__all__ = ["LearningProgress", "RuleLearner"]
