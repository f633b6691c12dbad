"""Which rules may be generated: one frozen object that every search obeys and every certificate names (design 2)."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any

from chronorule.errors import GrammarError
from chronorule.rules import order as orders
from chronorule.rules.canonical import neighbours
from chronorule.rules.rule import Rule, occurrence, quote

DEFAULT_MAX_LENGTH = 4
MOST_PREDICATES = 1_000_000  # of one rule, so that lengths can be counted
_RELATIONS = ("before", "equal")


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """The constraints on rules; by default chains of Before and Equal that raise the rate, without repeats.

    body             the library of predicates; None until `resolve` fills in what the log has
    length           fixed number of predicates, or else anything from
    min_length,      (1)
    max_length       (4) to this
    relations        of "before" and "equal", those allowed between predicates that have a time
    partial_orders   whether two such predicates may also be unrelated (None); else they form a chain
    repeats          whether a predicate may occur more than once, separated by Before
    signs            of 1 (raises the rate) and -1 (lowers it)
    required         predicates that every rule holds
    forbidden        predicates that no rule holds
    forbidden_pairs  pairs of predicates that no rule holds together
    prefix           the beginning in time: each of these Before the next, and no other predicate before one of them,
                     nor Equal to one but the last
    statics          the predicates of the library that have no time: they are related to nothing, occur at most once,
                     and may stand beside a chain
    """

    body: tuple[str, ...] | None = None
    length: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    relations: tuple[str, ...] = _RELATIONS
    partial_orders: bool = False
    repeats: bool = False
    signs: tuple[int, ...] = (1,)
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    forbidden_pairs: tuple[tuple[str, str], ...] = ()
    prefix: tuple[str, ...] = ()
    statics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("required", "forbidden", "prefix", "statics"):
            self._set(name, _names(name, getattr(self, name)))
        if self.body is not None:
            self._set("body", _names("body", self.body))
        self._set("relations", _relations(self.relations, self.partial_orders))
        self._set("signs", _signs(self.signs))
        self._set("forbidden_pairs", _pairs(self.forbidden_pairs))
        for name in ("partial_orders", "repeats"):
            if not isinstance(getattr(self, name), bool):
                raise GrammarError(f"{name} is True or False, not {getattr(self, name)!r}.")
        self._settle_lengths()
        self._refuse_names_in_conflict()
        if self.body is not None:
            self._refuse_unknown_names(self.body)
            if not self.lengths:
                raise GrammarError(
                    f"No rule of length {_range(self.lengths_stated)} exists: {len(self.library)} predicates may be "
                    f"used, {len({*self.required, *self.prefix})} must be; change the lengths or the library."
                )

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _settle_lengths(self) -> None:
        for name in ("length", "min_length", "max_length"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
                raise GrammarError(f"{name} is a number of predicates, at least 1, not {value!r}.")
            if int(value) > MOST_PREDICATES:
                raise GrammarError(
                    f"{name} of more than {MOST_PREDICATES:,} predicates is longer than any rule; give a smaller one."
                )
            self._set(name, int(value))
        if self.length is not None:
            if self.min_length is not None or self.max_length is not None:
                raise GrammarError("Give either a fixed length, or min_length and max_length, not both.")
        else:
            self._set("min_length", self.min_length or 1)
            self._set("max_length", self.max_length or max(DEFAULT_MAX_LENGTH, self.min_length or 1))
        shortest, longest = self.lengths_stated.start, self.lengths_stated.stop - 1
        if longest < shortest:
            raise GrammarError(f"min_length {shortest} exceeds max_length {longest}; exchange the two.")
        fixed = [name for name in self.required if name not in self.prefix]
        if longest < len(self.prefix) + len(fixed):
            raise GrammarError(
                f"Rules of at most {longest} predicates cannot hold the required {_listed([*self.prefix, *fixed])}; "
                "allow longer rules or require fewer."
            )

    def _refuse_names_in_conflict(self) -> None:
        for option in ("required", "prefix"):
            for name in getattr(self, option):
                if name in self.forbidden:
                    raise GrammarError(f"{quote(name)} is both forbidden and in {option}; remove it from one of them.")
        for name in self.prefix:
            if name in self.statics:
                raise GrammarError(
                    f"The prefix orders predicates in time, but {quote(name)} is static; put it into required."
                )
        if len(set(self.prefix)) < len(self.prefix) and not self.repeats:
            raise GrammarError("The prefix holds a predicate twice; set repeats=True or remove one.")
        if len(self.prefix) > 1 and "before" not in self.relations:
            raise GrammarError("A prefix of several predicates orders them by Before; allow it in relations.")
        demanded = {*self.required, *self.prefix}
        for one, other in self.forbidden_pairs:
            if one in demanded and other in demanded:
                raise GrammarError(f"{quote(one)} and {quote(other)} are both required, but forbidden as a pair.")

    def _refuse_unknown_names(self, body: tuple[str, ...]) -> None:
        if not body:
            raise GrammarError("The body library is empty; name at least one predicate, or leave body out.")
        pairs = tuple(name for pair in self.forbidden_pairs for name in pair)
        for option, names in (
            ("required", self.required),
            ("prefix", self.prefix),
            ("statics", self.statics),
            ("forbidden", self.forbidden),
            ("forbidden_pairs", pairs),
        ):
            for name in names:
                if name not in body:
                    raise GrammarError(f"{option} names {quote(name)}, which is not in body{_near(name, body)}.")

    @property
    def lengths_stated(self) -> range:
        """The lengths that the options name, whether or not a rule can have them."""
        if self.length is not None:
            return range(self.length, self.length + 1)
        assert self.min_length is not None
        assert self.max_length is not None
        return range(self.min_length, self.max_length + 1)

    # --- what the library has ------------------------------------------------------------------------------------

    def resolve(
        self, vocabulary: Sequence[str], *, statics: Collection[str] = (), exclude: Collection[str] = ()
    ) -> Grammar:
        """This grammar for a log: without `body`, the library becomes the vocabulary less `exclude` (as the head).

        Names that the vocabulary lacks are refused; which predicates of the library are static is taken from the log.
        """
        for name in self.statics:
            if name not in statics:
                raise GrammarError(f"statics names {quote(name)}, which is not static in the log; remove it.")
        body = self.body
        if body is None:
            body = tuple(name for name in vocabulary if name not in exclude)
            if not body:
                raise GrammarError("The log has no predicate but the head, so no rule can be written; add events.")
        else:
            for name in body:
                if name not in vocabulary:
                    raise GrammarError(f"body names {quote(name)}, which is not in the log{_near(name, vocabulary)}.")
        static = set(statics)
        return replace(self, body=body, statics=tuple(name for name in body if name in static))

    @property
    def library(self) -> tuple[str, ...]:
        """The predicates that rules may use, in the order of `body`."""
        if self.body is None:
            raise GrammarError("This grammar has no library yet; give body=[...], or resolve it for a log.")
        return tuple(name for name in self.body if name not in self.forbidden)

    @property
    def timed(self) -> tuple[str, ...]:
        """The predicates that rules may use and that have a time."""
        return tuple(name for name in self.library if name not in self.statics)

    @property
    def static(self) -> tuple[str, ...]:
        """The predicates that rules may use and that have no time."""
        return tuple(name for name in self.library if name in self.statics)

    @property
    def lengths(self) -> range:
        """The lengths that rules can have, given the library and what is required (empty where there is none)."""
        stated = self.lengths_stated
        shortest = max(
            stated.start, len(self.prefix) + len([name for name in self.required if name not in self.prefix])
        )
        if self.repeats and self.timed:
            return range(shortest, stated.stop)
        return range(shortest, min(stated.stop, len(self.library) + 1))

    # --- membership ----------------------------------------------------------------------------------------------

    def allows(self, rule: Rule) -> bool:
        """Whether the rule belongs to the grammar."""
        return self.why_not(rule) is None

    def why_not(self, rule: Rule) -> str | None:
        """The first constraint that the rule breaks, as a sentence; None where it belongs to the grammar."""
        return next(self._objections(rule), None)

    def neighbours(self, rule: Rule) -> Iterator[Rule]:
        """The rules of this grammar that are one step from `rule` (see `canonical.neighbours`)."""
        return neighbours(
            rule,
            self.library,
            statics=self.statics,
            relations=self.relations,
            partial_orders=self.partial_orders,
            repeats=self.repeats,
            max_length=self.lengths_stated.stop - 1,
            allowed=self.allows,
        )

    def _objections(self, rule: Rule) -> Iterator[str]:
        if rule.length not in self.lengths_stated:
            yield f"The rule has {rule.length} predicates, but the grammar allows {_range(self.lengths_stated)}."
        if rule.sign not in self.signs:
            yield f"The rule has sign {rule.sign:+d}, but the grammar allows {_signs_text(self.signs)}."
        used = rule.predicates
        for name in used:
            if self.body is not None and name not in self.body:
                yield f"{quote(name)} is not in the grammar's library{_near(name, self.body)}."
            if name in self.forbidden:
                yield f"{quote(name)} is forbidden."
        for name in self.required:
            if name not in used:
                yield f"{quote(name)} is required, but missing."
        for one, other in self.forbidden_pairs:
            if one in used and other in used:
                yield f"{quote(one)} and {quote(other)} are forbidden as a pair."
        twice = sorted({name for name in used if used.count(name) > 1})
        if twice and not self.repeats:
            yield f"The rule repeats {_listed(twice)}, but the grammar allows no repeats."
        yield from self._objections_to_relations(rule)
        if self.prefix and not self._starts_with_prefix(rule):
            yield f"The rule does not start with {_chain(self.prefix)}."

    def _objections_to_relations(self, rule: Rule) -> Iterator[str]:
        after = orders.successors(rule.predecessors)
        timed = 0
        ordered = 0
        for element, members in enumerate(rule.classes):
            names = [name for name in members if name in self.statics]
            if names and (len(members) > 1 or rule.predecessors[element] or after[element]):
                yield f"{quote(names[0])} is static, so it can be Before or Equal to nothing."
            if len(members) > 1 and "equal" not in self.relations:
                yield f"{quote(members[0])} and {quote(members[1])} are Equal, which is not allowed."
            if rule.predecessors[element] and "before" not in self.relations:
                yield f"{quote(members[0])} comes after others, but Before is not allowed."
            if not names:
                timed += 1
                ordered += rule.predecessors[element].bit_count()
        if not self.partial_orders and ordered < timed * (timed - 1) // 2:
            yield "Two predicates of the rule are unrelated, but the grammar allows only chains."

    def _starts_with_prefix(self, rule: Rule) -> bool:
        """Whether the prefix is a chain of the rule's variables with nothing else before, or Equal to, its elements."""
        variables = {
            (name, rank): element
            for element, (members, ranks) in enumerate(zip(rule.classes, rule.ranks, strict=True))
            for name, rank in zip(members, ranks, strict=True)
        }
        earlier = 0
        for place, name in enumerate(self.prefix):  # nothing comes before, so the prefix holds the first of each
            element = variables.get((name, 1 + self.prefix[:place].count(name)))
            if element is None or rule.predecessors[element] != earlier:
                return False
            if len(rule.classes[element]) > 1 and place < len(self.prefix) - 1:
                return False
            earlier |= 1 << element
        return True

    # --- for people and for files --------------------------------------------------------------------------------

    def __str__(self) -> str:
        kinds = "/".join(relation.capitalize() for relation in self.relations)
        if self.partial_orders:
            kind = f"partial orders of {kinds}/None" if kinds else "unrelated predicates"
        else:
            kind = f"chains of {kinds}"
        size = "all predicates of the log" if self.body is None else f"{len(self.library)} predicates"
        parts = [f"{kind} over {size}", f"length {_range(self.lengths_stated)}", f"sign {_signs_text(self.signs)}"]
        if self.body is None and self.forbidden:
            parts.append(f"without {_listed(self.forbidden)}")
        if self.body is not None and self.static:
            parts.append(f"{len(self.static)} of them static")
        if self.repeats:
            parts.append("with repeats")
        if self.required:
            parts.append(f"with {_listed(self.required)}")
        if self.prefix:
            parts.append(f"starting {_chain(self.prefix)}")
        parts += [f"not {quote(one)} with {quote(other)}" for one, other in self.forbidden_pairs]
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """All options as numbers, texts, truth values and lists, for TOML or JSON; what is None is left out."""
        return {
            field.name: _plain(getattr(self, field.name))
            for field in fields(self)
            if getattr(self, field.name) is not None
        }

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Grammar:
        """The grammar that `to_dict` wrote."""
        known = {field.name for field in fields(cls)}
        for name in options:
            if name not in known:
                raise GrammarError(f"A grammar has no option {name!r}{_near(name, known)}.")
        return cls(**options)


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _names(option: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise GrammarError(f"{option} is a list of names, not {names!r}; write [{names!r}].")
    found = tuple(names)
    for name in found:
        if not isinstance(name, str):
            raise GrammarError(f"{option} holds {name!r}, which is not the name of a predicate.")
    if option != "prefix" and len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise GrammarError(f"{option} names {quote(twice)} twice; remove one.")
    return found


def _relations(relations: Iterable[str], partial_orders: bool) -> tuple[str, ...]:
    given = _names("relations", relations)
    for relation in given:
        if relation == "after":
            raise GrammarError('"after" is "before" read backwards; allow "before".')
        if relation == "none":
            raise GrammarError('"none" between predicates is allowed by partial_orders=True, not in relations.')
        if relation not in _RELATIONS:
            raise GrammarError(f'relations may hold "before" and "equal", not {relation!r}.')
    if not given and not partial_orders:
        raise GrammarError('A chain needs a relation; allow "before" or "equal", or set partial_orders=True.')
    return tuple(relation for relation in _RELATIONS if relation in given)


def _signs(signs: Iterable[int]) -> tuple[int, ...]:
    given = tuple(signs) if isinstance(signs, Iterable) else ()
    known = all(isinstance(sign, Real) and sign in (1, -1) for sign in given)
    if not given or not known or len(set(given)) < len(given):
        raise GrammarError(f"signs is (1,), (-1,) or (1, -1), not {signs!r}.")
    return tuple(sign for sign in (1, -1) if sign in given)


def _pairs(pairs: Iterable[Iterable[str]]) -> tuple[tuple[str, str], ...]:
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise GrammarError(f"forbidden_pairs is a list of pairs of names, not {pairs!r}; write [(one, other)].")
    found: list[tuple[str, str]] = []
    for pair in pairs:
        names = () if isinstance(pair, str) or not isinstance(pair, Iterable) else tuple(pair)
        if len(names) != 2 or names[0] == names[1]:
            raise GrammarError(f"forbidden_pairs holds pairs of two different names, not {pair!r}.")
        one, other = sorted(_names("forbidden_pairs", names))
        if (one, other) not in found:
            found.append((one, other))
    return tuple(found)


def _near(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {quote(near[0])}?)" if near else ""


def _listed(names: Sequence[str]) -> str:
    quoted = [quote(name) for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted)


def _chain(names: Sequence[str]) -> str:
    return " < ".join(occurrence(name, 1 + list(names[:place]).count(name)) for place, name in enumerate(names))


def _range(lengths: range) -> str:
    return str(lengths.start) if len(lengths) == 1 else f"{lengths.start}..{lengths.stop - 1}"


def _signs_text(signs: Sequence[int]) -> str:
    return " and ".join(f"{sign:+d}" for sign in signs)
