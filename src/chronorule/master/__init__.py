"""The master problem: the weights, the baseline and the spread of base rates by maximum likelihood (design 4 and 6).

minimise  −ℓ(w, b, ν) + λ0 Σ_f c_f w_f   over  0 <= w <= w_max,  b within bounds,  ν >= 0

Projected Newton: each step minimises the quadratic model inside the box by an active-set method, so it is feasible and
goes downhill; a line search makes it safe and the model's own curvature makes it fast. Convex in (w, b) for fixed ν.
"""

from chronorule.master.fit import MAX_WEIGHT, SETTLED, Start, StartingPoint, fit_master
from chronorule.master.solution import MasterSolution

__all__ = ["MAX_WEIGHT", "SETTLED", "MasterSolution", "Start", "StartingPoint", "fit_master"]
