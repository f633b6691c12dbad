"""Seeded synthetic logs with their truth: `simulate` for rules of your own, `paper_suite` for the paper's."""

import inspect
import sys
from types import ModuleType

from chronorule.simulate.simulation import simulate
from chronorule.simulate.suite import GROUPS, LIBRARIES, SEQUENCES, paper_suite, truth_rules
from chronorule.simulate.truth import Law, Simulated, Truth

__all__ = ["GROUPS", "LIBRARIES", "SEQUENCES", "Law", "Simulated", "Truth", "paper_suite", "simulate", "truth_rules"]


class _CallableModule(ModuleType):
    """A module that is called like its main function.

    The function and this package share their name, and Python binds `chronorule.simulate` to the package as soon as
    anything imports it: `chronorule.simulate(...)` has to mean the same before and after.
    """

    __call__ = staticmethod(simulate)


__signature__ = inspect.signature(simulate)
sys.modules[__name__].__class__ = _CallableModule
