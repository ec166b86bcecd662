"""Regular expressions: one small dialect that means the same in every store.

    abc  \\.  \\t        characters; a punctuation mark is made literal by a backslash
    .                   any character
    [a-z_] [^0-9]       one of, none of
    \\d \\w \\s \\D \\W \\S   digits, word characters, spaces, and their opposites, all ASCII
    * + ? {2} {2,} {2,5}   repeats, up to 255
    ab|cd  (ab)  (?:ab) alternatives, groups
    ^ $                 the start and the end of the whole text
    (?i) at the start   upper and lower case of ASCII letters are the same

Left out is what other engines lack or read differently: look-around, back references,
`\\b`, lazy and possessive repeats, named classes. What is left is regular, so `matcher` can
decide it in time linear in the text, whatever the pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

MAX_PATTERN_CHARACTERS = 512
MAX_REPEAT = 255
MAX_GROUPS_DEEP = 32

Ranges = tuple[tuple[int, int], ...]

_SHORTHANDS: dict[str, Ranges] = {
    "d": ((48, 57),),
    "w": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "s": ((9, 13), (32, 32)),
}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_BOUND = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_BEFORE_NOTHING = "*+?{"


class PatternError(ValueError):
    """`offset` in the pattern, what is wrong, and what was expected there."""

    def __init__(self, offset: int, problem: str, expected: str) -> None:
        super().__init__(f"{problem}; expected {expected}")
        self.offset = offset
        self.problem = problem
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Characters:
    """One character in (or, negated, outside) the ranges of code points."""

    ranges: Ranges
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Anchor:
    at_start: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    branches: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    body: Regex
    least: int
    most: int | None


Regex = Characters | Anchor | Sequence | Alternatives | Repeat


@lru_cache(maxsize=256)
def parse_pattern(pattern: str) -> Regex:
    """The pattern as a tree, or PatternError."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise PatternError(
            MAX_PATTERN_CHARACTERS,
            "the pattern is too long",
            f"{MAX_PATTERN_CHARACTERS} characters",
        )
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.depth = 0
        self.ignore_case = pattern.startswith("(?i)")

    def parse(self) -> Regex:
        self.at = 4 if self.ignore_case else 0
        tree = self._alternatives()
        if self.at < len(self.pattern):
            raise PatternError(self.at, "')' closes no group", r"\) for a literal parenthesis")
        return tree

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _alternatives(self) -> Regex:
        branches = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Alternatives(tuple(branches))

    def _sequence(self) -> Regex:
        start = self.at
        parts: list[Regex] = []
        while self._peek() not in {"", "|", ")"}:
            parts.append(self._repeated(self._atom()))
        if not parts and self.pattern:
            raise PatternError(start, "there is nothing to match", "a character or a group")
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _atom(self) -> Regex:
        start = self.at
        character = self._peek()
        self.at += 1
        match character:
            case "^" | "$":
                return Anchor(character == "^")
            case ".":
                return Characters((), negated=True)
            case "(":
                return self._group(start)
            case "[":
                return self._bracket(start)
            case "\\":
                return self._escape()
            case "*" | "+" | "?" | "{":
                raise PatternError(
                    start, f"'{character}' repeats nothing", rf"\{character} for a literal one"
                )
            case "}" | "]":
                raise PatternError(start, f"'{character}' opens nowhere", rf"\{character}")
        return self._literal(((ord(character), ord(character)),))

    def _literal(self, ranges: Ranges, negated: bool = False) -> Characters:
        return Characters(_both_cases(ranges) if self.ignore_case else ranges, negated)

    def _group(self, start: int) -> Regex:
        if self._peek() == "?":
            if not self.pattern.startswith("?:", self.at):
                raise PatternError(
                    start,
                    f"'{self.pattern[start : start + 3]}' is not supported",
                    "'(?:' for a group, or '(?i)' at the very start",
                )
            self.at += 2
        self.depth += 1
        if self.depth > MAX_GROUPS_DEEP:
            raise PatternError(start, "groups are nested too deep", f"{MAX_GROUPS_DEEP} at most")
        body = self._alternatives()
        self.depth -= 1
        if self._peek() != ")":
            raise PatternError(start, "the group does not end", "a closing ')'")
        self.at += 1
        return body

    def _repeated(self, body: Regex) -> Regex:
        start = self.at
        least, most = self._bounds()
        if self.at == start:
            return body
        if isinstance(body, Anchor):
            raise PatternError(start, "'^' and '$' cannot be repeated", "a character or a group")
        if self._peek() and self._peek() in _BEFORE_NOTHING:
            raise PatternError(
                self.at,
                "a repeat follows a repeat",
                "one repeat (lazy and possessive ones are not supported)",
            )
        return Repeat(body, least, most)

    def _bounds(self) -> tuple[int, int | None]:
        sign = self._peek()
        if sign and sign in "*+?":
            self.at += 1
            return (1 if sign == "+" else 0), (1 if sign == "?" else None)
        if sign != "{":
            return 1, 1
        bound = _BOUND.match(self.pattern, self.at)
        if bound is None:
            raise PatternError(self.at, "'{' starts no repeat", r"{2}, {2,} or {2,5}, or \{")
        least = int(bound[1])
        most = least if bound[2] is None else int(bound[3]) if bound[3] else None
        if max(least, most or 0) > MAX_REPEAT or (most is not None and most < least):
            raise PatternError(
                self.at, f"'{bound[0]}' is out of range", f"growing bounds up to {MAX_REPEAT}"
            )
        self.at = bound.end()
        return least, most

    def _escape(self) -> Characters:
        character = self._peek()
        shorthand = _SHORTHANDS.get(character.lower())
        if shorthand is not None:
            self.at += 1
            return Characters(shorthand, negated=character.isupper())
        code = self._escaped_character()
        return self._literal(((code, code),))

    def _escaped_character(self) -> int:
        character = self._peek()
        if character in _CONTROLS:
            character = _CONTROLS[character]
        elif not character or character.isalnum() or character == "_" or not character.isascii():
            raise PatternError(
                self.at - 1,
                f"'\\{character}' is not supported" if character else "the pattern ends in '\\'",
                r"\d \w \s \D \W \S \t \n \r, or a backslash before a punctuation mark",
            )
        self.at += 1
        return ord(character)

    def _bracket(self, start: int) -> Characters:
        negated = self._peek() == "^"
        self.at += negated
        ranges: list[tuple[int, int]] = []
        while self._peek() != "]" or not ranges:
            if not self._peek():
                raise PatternError(start, "the '[' does not end", "a closing ']'")
            ranges.extend(self._bracket_item())
        self.at += 1
        return self._literal(tuple(ranges), negated)

    def _bracket_item(self) -> Ranges:
        if self._peek() == "\\" and self.pattern[self.at + 1 : self.at + 2].lower() in _SHORTHANDS:
            letter = self.pattern[self.at + 1]
            if letter.isupper():
                raise PatternError(
                    self.at,
                    f"'\\{letter}' is not supported inside brackets",
                    f"[^\\{letter.lower()}]",
                )
            self.at += 2
            return _SHORTHANDS[letter]
        first_at = self.at
        first = self._bracket_character()
        if self._peek() != "-" or self.pattern[self.at + 1 : self.at + 2] in {"]", ""}:
            return ((first, first),)
        self.at += 1
        last = self._bracket_character()
        if last < first:
            raise PatternError(first_at, "the range runs backwards", "the smaller character first")
        return ((first, last),)

    def _bracket_character(self) -> int:
        character = self._peek()
        self.at += 1
        if character == "\\":
            return self._escaped_character()
        if character == "[":
            raise PatternError(self.at - 1, "'[' inside brackets", r"\[ for a literal one")
        return ord(character)


def _both_cases(ranges: Ranges) -> Ranges:
    swapped = []
    for low, high in ranges:
        for first, last, shift in ((65, 90, 32), (97, 122, -32)):
            inner = max(low, first), min(high, last)
            if inner[0] <= inner[1]:
                swapped.append((inner[0] + shift, inner[1] + shift))
    return ranges + tuple(each for each in swapped if each not in ranges)


def postgres_pattern(pattern: str) -> str:
    """The pattern in PostgreSQL's own dialect, for its `~` operator.

    Classes are spelled out, so that the answer does not depend on a collation.
    """
    return _write(parse_pattern(pattern))


def _write(regex: Regex) -> str:
    match regex:
        case Characters():
            return _write_characters(regex)
        case Anchor():
            return "^" if regex.at_start else "$"
        case Sequence():
            return "".join(
                f"(?:{_write(part)})" if isinstance(part, Alternatives) else _write(part)
                for part in regex.parts
            )
        case Alternatives():
            return "|".join(_write(branch) for branch in regex.branches)
        case Repeat():
            body = _write(regex.body)
            if not isinstance(regex.body, Characters):
                body = f"(?:{body})"
            most = "" if regex.most is None else regex.most
            return f"{body}{{{regex.least},{most}}}"


def _write_characters(characters: Characters) -> str:
    if not characters.ranges:
        return "."
    if len(characters.ranges) == 1 and not characters.negated:
        low, high = characters.ranges[0]
        if low == high:
            return _write_code(low, r"\^$.[]{}()*+?|")
    inside = "".join(
        "-".join(_write_code(code, r"\^-[]") for code in sorted({low, high}))
        for low, high in characters.ranges
    )
    return f"[{'^' if characters.negated else ''}{inside}]"


def _write_code(code: int, special: str) -> str:
    return f"\\{chr(code)}" if chr(code) in special else chr(code)
