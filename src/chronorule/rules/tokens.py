"""The words of the language of rules: names (bare or quoted), operators, arrows and parentheses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NoReturn

from chronorule.errors import RuleSyntaxError
from chronorule.rules.rule import KEYWORDS, RESERVED

Kind = Literal["name", "arrow", "relation", "and", "open", "close", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str  # as written; of a name: its meaning, without quotes and escapes
    column: int
    quoted: bool = False
    rank: int | None = None  # of Name#2: 2


_OPERATORS: tuple[tuple[str, Kind], ...] = (  # longest first
    ("<-|", "arrow"),
    ("<-", "arrow"),
    ("←", "arrow"),
    ("↤", "arrow"),
    ("<", "relation"),
    (">", "relation"),
    ("=", "relation"),
    ("&", "and"),
    ("∧", "and"),
    ("(", "open"),
    (")", "close"),
)
_RANK = re.compile(r"#([1-9][0-9]{0,8})(?![0-9])")
_ESCAPED = {"\\": "\\", '"': '"', "/": "/", "n": "\n", "t": "\t", "r": "\r"}
_CODE = re.compile(r"u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})")


class Tokens:
    """Cuts the text of one rule into tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def fail(self, message: str, place: int) -> NoReturn:
        raise RuleSyntaxError(message, re.sub(r"\s", " ", self.text), place + 1)

    def all(self) -> list[Token]:
        tokens: list[Token] = []
        while True:
            while self.place < len(self.text) and self.text[self.place].isspace():
                self.place += 1
            if self.place == len(self.text):
                return [*tokens, Token("end", "", self.place)]
            tokens.append(self._next())

    def _next(self) -> Token:
        start, text = self.place, self.text
        if text.startswith(("<=", ">=", "=="), start):
            self.fail(f"There is no relation {text[start : start + 2]}; use <, > or =.", start)
        for operator, kind in _OPERATORS:
            if text.startswith(operator, start):
                self.place += len(operator)
                return Token(kind, operator, start)
        if text[start] == '"':
            return self._ranked(self._quoted(), start, quoted=True)
        if text[start] == "#":
            self.fail("A # must follow a name at once, as in Name#2; a comment stands on a line of its own.", start)
        if text[start] in RESERVED:
            self.fail(f"{text[start]} has no meaning here; put a name that contains it in double quotes.", start)
        name = self._bare()
        if name in KEYWORDS:
            return Token("relation", name, start)
        return self._ranked(name, start, quoted=False)

    def _bare(self) -> str:
        start, text = self.place, self.text
        while self.place < len(text) and not text[self.place].isspace() and text[self.place] not in RESERVED:
            if not text[self.place].isprintable():
                self.fail(
                    f"The character {_code_point(text[self.place])} cannot be seen; "
                    'remove it, or write the name in double quotes with an escape such as "\\u200b".',
                    self.place,
                )
            self.place += 1
        return text[start : self.place]

    def _quoted(self) -> str:
        opening, text = self.place, self.text
        self.place += 1
        characters: list[str] = []
        while self.place < len(text):
            character = text[self.place]
            if character == '"':
                self.place += 1
                return "".join(characters)
            if character == "\\":
                characters.append(self._escape())
            else:
                characters.append(character)
                self.place += 1
        self.fail("This quoted name has no closing double quote.", opening)

    def _escape(self) -> str:
        start, text = self.place, self.text
        letter = text[start + 1 : start + 2]
        if letter in _ESCAPED:
            self.place += 2
            return _ESCAPED[letter]
        code = _CODE.match(text, start + 1)
        if code is None or int(code[1] or code[2], 16) > 0x10FFFF:
            self.fail(
                'An escape is \\\\, \\", \\n, \\t, \\r, \\u and four, or \\U and eight hexadecimal digits.', start
            )
        self.place = code.end()
        return chr(int(code[1] or code[2], 16))

    def _ranked(self, name: str, start: int, quoted: bool) -> Token:
        if self.text[self.place : self.place + 1] != "#":
            return Token("name", name, start, quoted)
        rank = _RANK.match(self.text, self.place)
        if rank is None:
            self.fail("After # stands the number of the occurrence, from 1, as in Name#2.", self.place)
        self.place = rank.end()
        return Token("name", name, start, quoted, int(rank[1]))


def _code_point(character: str) -> str:
    return f"U+{ord(character):04X}"
