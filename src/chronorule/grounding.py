"""From a rule and a log to the rule's completions and feature paths (design 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import OptionError, RuleError
from chronorule.events import EventLog
from chronorule.kernels import matching
from chronorule.kernels.paths import feature_path
from chronorule.rules.language import parse_rule
from chronorule.rules.rule import Rule

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Float64 = NDArray[np.float64]

MOST_CLASSES = 62  # instants of one rule: a bit mask of them is one machine word
ROUNDINGS = 16  # by which the end of a window or a span may miss an event that falls on it: see `Grounding.width`
MOST_UNORDERED_CLASSES = 14  # a rule that is no chain keeps a number for each of 2^classes down-sets


@dataclass(frozen=True)
class Kernel:
    """κ, how long and how strongly a completion counts: for ever, for a while, or less and less."""

    name: Literal["step", "window", "decay"] = "step"
    width: float = np.inf
    rate: float = 0.0

    def __str__(self) -> str:
        return {"step": "step", "window": f"window({self.width:g})", "decay": f"decay({self.rate:g})"}[self.name]


step = Kernel()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def window(width: float) -> Kernel:
    """κ = 1 for `width` after a completion, then 0."""
    if not (_is_number(width) and 0 < width < np.inf):
        raise OptionError(f"window({width}) never counts; give a positive, finite width in the log's unit of time.")
    return Kernel("window", width=float(width))


def decay(rate: float) -> Kernel:
    """κ(u) = e^(−rate·u), u the time since the completion."""
    if not (_is_number(rate) and 0 < rate < np.inf):
        raise OptionError(f"decay({rate}) does not fall; give a positive, finite rate per unit of time.")
    return Kernel("decay", rate=float(rate))


def parse_kernel(text: str | Kernel) -> Kernel:
    """The kernel that `step`, `window(12)` or `decay(0.1)` names."""
    if isinstance(text, Kernel):
        return text
    name, _, argument = str(text).strip().partition("(")
    makers = {"window": window, "decay": decay}
    if name == "step" and not argument:
        return step
    if name in makers and argument.endswith(")"):
        try:
            return makers[name](float(argument[:-1]))
        except ValueError as error:
            if isinstance(error, OptionError):
                raise
    raise OptionError(
        f"The kernel '{text}' is none of step, window(WIDTH) and decay(RATE); write for example window(12)."
    )


@dataclass(frozen=True)
class Feature:
    """What a rule contributes to the log-rate: φ by kind, kernel and longest match."""

    kind: Literal["exists", "count"] = "exists"
    kernel: Kernel = step
    span: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("exists", "count"):
            raise OptionError(f"The feature '{self.kind}' is neither 'exists' nor 'count'; choose one of the two.")
        if not isinstance(self.kernel, Kernel):
            raise OptionError(f"The kernel {self.kernel!r} is none; give step, window(WIDTH) or decay(RATE).")
        if self.span is not None and not (_is_number(self.span) and self.span >= 0):
            raise OptionError(
                f"span={self.span} excludes every match; give 0 or more in the log's unit of time, or None."
            )

    @property
    def longest(self) -> float:
        """The longest match allowed, as a number."""
        return np.inf if self.span is None else float(self.span)


class Completions(NamedTuple):
    """When a rule completes: for every row an entity, a time, and how many matches complete there."""

    entity: Int64
    time: Float64
    multiplicity: Float64


@dataclass(frozen=True, eq=False)
class FeaturePath:
    """φ of one rule over every entity's time.

    φ(t) = values[j]·e^(−decay·(t − times[j])) for times[j] < t ≤ times[j + 1], and 0 before an entity's first row.
    """

    offsets: Int64  # [E + 1]
    times: Float64
    values: Float64
    decay: float = 0.0
    constant: bool = False  # a rule of static predicates: φ = 1 for all time in the entities listed

    def at(self, entity: int, times: Float64) -> Float64:
        """φ of one entity at the given times: what happened strictly before each of them counts."""
        begin, end = self.offsets[entity], self.offsets[entity + 1]
        rows = np.searchsorted(self.times[begin:end], times, side="left") - 1 + begin
        found = rows >= begin
        rows = np.where(found, rows, 0)
        if end == begin:
            return np.zeros(len(times))
        values = self.values[rows]
        if self.decay > 0 and not self.constant:
            values = values * np.exp(-self.decay * np.where(found, times - self.times[rows], 0.0))
        return np.where(found, values, 0.0)


@lru_cache(maxsize=4096)
def _down_sets(predecessors: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Every non-empty down-set of a partial order with the mask of its maximal elements, larger ones first."""
    size = len(predecessors)
    found = []
    for state in range(1, 1 << size):
        members = [k for k in range(size) if state >> k & 1]
        if all(predecessors[k] & ~state == 0 for k in members):
            below = 0
            for k in members:
                below |= predecessors[k]
            found.append((state, state & ~below))
    return tuple(sorted(found, key=lambda pair: -pair[0].bit_count()))


def _timed_and_static(rule: Rule, log: EventLog) -> tuple[list[list[int]], list[int], list[int]]:
    """Codes of the timed classes, bit masks of their predecessors among themselves, and codes of the statics."""
    codes = [[log.code(name) for name in members] for members in rule.classes]
    static = [any(log.is_static(code) for code in members) for members in codes]
    related = 0
    for mask in rule.predecessors:
        related |= mask
    for k, members in enumerate(codes):
        if static[k] and (len(members) > 1 or rule.predecessors[k] or related >> k & 1):
            name = next(n for n, code in zip(rule.classes[k], members, strict=True) if log.is_static(code))
            raise RuleError(
                f"'{name}' is a static property without a time, so nothing can be Before, After or Equal to it; "
                f"name it in the body of '{rule.key}' without a relation."
            )
    timed = [k for k in range(len(codes)) if not static[k]]
    masks = [sum(1 << j for j, u in enumerate(timed) if rule.predecessors[k] >> u & 1) for k in timed]
    if len(timed) > MOST_CLASSES:
        raise RuleError(
            f"A rule of {len(timed)} instants is more than the {MOST_CLASSES} that can be matched; shorten it."
        )
    return [codes[k] for k in timed], masks, [code for k in range(len(codes)) if static[k] for code in codes[k]]


def compile_bodies(rules: Iterable[Rule], log: EventLog) -> matching.Bodies:
    """The bodies of rules as arrays of predicate codes; heads and signs do not matter here."""
    class_offsets, member_offsets, static_offsets, state_offsets = [0], [0], [0], [0]
    members: list[int] = []
    predecessors: list[int] = []
    maximal: list[int] = []
    chain: list[bool] = []
    statics: list[int] = []
    states: list[tuple[int, int]] = []
    for rule in rules:
        timed, masks, static = _timed_and_static(rule, log)
        for codes in timed:
            members.extend(codes)
            member_offsets.append(len(members))
        predecessors.extend(masks)
        class_offsets.append(len(predecessors))
        below = 0
        for mask in masks:
            below |= mask
        maximal.append((1 << len(masks)) - 1 & ~below)
        chain.append(all(mask == (1 << k) - 1 for k, mask in enumerate(masks)))
        if not chain[-1]:
            if len(masks) > MOST_UNORDERED_CLASSES:
                raise RuleError(
                    f"'{rule.key}' has {len(masks)} instants that are not in one order, more than the "
                    f"{MOST_UNORDERED_CLASSES} that can be matched; order more of them or shorten the rule."
                )
            states.extend(_down_sets(tuple(masks)))
        state_offsets.append(len(states))
        statics.extend(static)
        static_offsets.append(len(statics))
    lattice = np.array(states, np.int64).reshape(len(states), 2)
    return matching.Bodies(
        np.array(class_offsets, np.int64),
        np.array(member_offsets, np.int64),
        np.array(members, np.int32),
        np.array(predecessors, np.int64),
        np.array(maximal, np.int64),
        np.array(chain, np.bool_),
        np.array(static_offsets, np.int64),
        np.array(statics, np.int32),
        np.array(state_offsets, np.int64),
        np.ascontiguousarray(lattice[:, 0]),
        np.ascontiguousarray(lattice[:, 1]),
    )


def chain_bodies(codes: Int32, joined: NDArray[np.bool_]) -> matching.Bodies:
    """Chains of one length as arrays, for searches that never write a rule down: [R, L] codes of timed predicates.

    `joined[r, j]` says that predicate j is Equal to the one before it; otherwise it comes after it.
    """
    n_rules, length = codes.shape
    opens = ~joined
    opens[:, 0] = True
    rank = np.cumsum(opens, axis=1) - 1
    classes = rank[:, -1] + 1
    class_offsets = np.concatenate([[0], np.cumsum(classes)]).astype(np.int64)
    starts = np.flatnonzero(opens.ravel())
    empty = np.zeros(0, np.int64)
    return matching.Bodies(
        class_offsets,
        np.append(starts, n_rules * length).astype(np.int64),
        np.ascontiguousarray(codes, np.int32).ravel(),
        (np.int64(1) << rank.ravel()[starts].astype(np.int64)) - 1,
        np.int64(1) << (classes - 1).astype(np.int64),
        np.ones(n_rules, np.bool_),
        np.zeros(n_rules + 1, np.int64),
        np.zeros(0, np.int32),
        np.zeros(n_rules + 1, np.int64),
        empty,
        empty,
    )


@dataclass(frozen=True, eq=False)
class Grounding:
    """A log indexed for matching, and the feature paths found on it so far, by canonical body.

    Memory beyond the log: 16 to 24 bytes an event for the index. The newest `MOST_PATHS` paths are kept.
    """

    log: EventLog
    feature: Feature = field(default_factory=Feature)

    MOST_PATHS = 1024

    def __post_init__(self) -> None:
        index = matching.build_index(
            self.log.offsets,
            self.log.times,
            self.log.codes,
            self.log.n_predicates,
            self.log.static_offsets,
            self.log.static_codes,
        )
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "_paths", {})

    index: matching.Index = field(init=False, repr=False)
    _paths: dict[tuple[object, object], FeaturePath] = field(init=False, repr=False)

    @cached_property
    def width(self) -> float:
        """The kernel's width in comparisons of times: a few roundings more.

        Ticks of 0.1 hours, or minutes in hours, are no binary numbers. Three ticks after s and s + 0.3 differ by a
        rounding, to either side, and what falls on the end of a window counts.
        """
        return self._with_roundings(self.feature.kernel.width)

    @cached_property
    def longest(self) -> float:
        """The longest match allowed in comparisons of times, likewise."""
        return self._with_roundings(self.feature.longest)

    def _with_roundings(self, length: float) -> float:
        times = self.index.instant_times
        finite = times[np.isfinite(times)]
        reach = max(float(np.abs(finite).max(initial=0.0)), length)
        return length if np.isinf(length) else length + ROUNDINGS * float(np.spacing(reach))

    def completions(self, rule: Rule) -> matching.Float64:
        """Rows (entity, instant, multiplicity) of the rule's completions, matches within the span only."""
        return matching.find_completions(self.index, compile_bodies([rule], self.log), 0, self.longest)

    def path(self, rule: Rule) -> FeaturePath:
        """φ of the rule over every entity's time; found once for each body."""
        body = (rule.classes, rule.predecessors)
        known = self._paths.get(body)
        if known is None:
            known = self._find_path(rule)
            while len(self._paths) >= self.MOST_PATHS:
                # a copy of the keys: threads that share the grounding may add theirs meanwhile
                self._paths.pop(next(iter(list(self._paths)), body), None)
            self._paths[body] = known
        return known

    def paths(self, rules: Sequence[Rule]) -> list[FeaturePath]:
        return [self.path(rule) for rule in rules]

    def _find_path(self, rule: Rule) -> FeaturePath:
        found = _with_times(self.completions(rule), self.index)
        constant = all(self.log.is_static(self.log.code(name)) for name in rule.predicates)
        kernel = self.feature.kernel
        offsets, times, values = feature_path(
            found.entity,
            found.time,
            found.multiplicity,
            self.log.n_entities,
            self.feature.kind == "count",
            np.inf if constant else self.width,
            0.0 if constant else kernel.rate,
        )
        return FeaturePath(offsets, times, values, 0.0 if constant else kernel.rate, constant)


def _with_times(rows: Float64, index: matching.Index) -> Completions:
    instants = rows[:, 1].astype(np.int64)
    return Completions(rows[:, 0].astype(np.int64), index.instant_times[instants], rows[:, 2].copy())


def completions(rule: Rule | str, log: EventLog, span: float | None = None) -> Completions:
    """When a rule completes in a log: entity index, time and number of matches of every completion, in order.

    A match is a choice of one event per variable that satisfies all relations; it completes at its latest event.
    With `span`, only matches whose events lie within so much time count.
    """
    parsed = parse_rule(rule) if isinstance(rule, str) else rule
    grounding = Grounding(log, Feature("count", span=span))
    return _with_times(grounding.completions(parsed), grounding.index)


def latest_match(rule: Rule, log: EventLog, entity: int, until: float) -> Float64 | None:
    """The instant of each Equal class in the latest match of a rule that ends by `until`; None without a match.

    Each class takes the last instant that holds its predicates before those that follow it, so that no other match has
    any of its events later: where one completes at `until` this one does, and it starts last. Static predicates stand
    at minus infinity. For pictures and explanations, one at a time: linear in the entity's events.
    """
    rows = slice(log.offsets[entity], log.offsets[entity + 1])
    times, codes = log.times[rows], log.codes[rows]
    properties = log.static_codes[log.static_offsets[entity] : log.static_offsets[entity + 1]]
    followed_at = np.full(len(rule.classes), np.inf)
    picked = np.full(len(rule.classes), -np.inf)
    for place in range(len(rule.classes) - 1, -1, -1):
        members = [log.code(name) for name in rule.classes[place]]
        if all(log.is_static(code) for code in members):
            if not np.isin(members, properties).all():
                return None
            continue
        held = times[codes == members[0]]
        for code in members[1:]:
            held = np.intersect1d(held, times[codes == code])
        held = held[(held <= until) & (held < followed_at[place])]
        if held.size == 0:
            return None
        picked[place] = held[-1]
        earlier = [below for below in range(place) if rule.predecessors[place] >> below & 1]
        followed_at[earlier] = np.minimum(followed_at[earlier], picked[place])
    return picked
