"""Command templates: a command whose arguments carry hints of what to profile.

    python train.py --epoch {1,2,5} --batch {64..256} --opt {adam|sgd} --out {where}

    {1,2,5}  {epochs: 1,2,5}      numbers to profile
    {1..10}  {1..10..3}  {1..10/4}   a range: spread out, by a step, or that many of it
    {adam|sgd}  {opt: adam|sgd}   words to choose from
    {where}                       an argument, as in a job file; or a hint of that name again
    {{  }}                        a brace

A hint without a name is called after the option in front of it (`--batch-size` is batch_size),
or else arg1, arg2 and so on by its place among the hints.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from acai.model.errors import InvalidInput
from acai.provisioning.trials import Value

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
_NAMED = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_-]{0,63})\s*:(.*)\Z", re.DOTALL)
_RANGE = re.compile(r"(.+?)\.\.(.+?)(?:\.\.(.+)|/(.+))?\Z")
_OPTION = re.compile(r"(?:^|\s)-{1,2}([A-Za-z_][A-Za-z0-9_-]*)(?:\s+|=)[\"']?\Z")
_SPREAD = 4  # values of a range that says nothing else
_MOST = 1000  # values of one hint


class Kind(StrEnum):
    NUMBER = "number"
    CHOICE = "choice"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One hint: its name, and the values that profiling tries."""

    name: str
    kind: Kind
    values: tuple[Value, ...]


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A stretch of the command as it stands, or the place of a parameter or an argument."""

    literal: str = ""
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Template:
    """A parsed command template. `pieces` in order make the command."""

    parameters: tuple[Parameter, ...]
    pieces: tuple[Piece, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Plain placeholders, in order: they must be given, and are not modelled."""
        placed = (piece.name for piece in self.pieces if piece.name is not None)
        return tuple(dict.fromkeys(name for name in placed if name not in self.names))

    def combinations(self) -> list[dict[str, Value]]:
        """Every combination of the hinted values, first parameter slowest."""
        choices = [parameter.values for parameter in self.parameters]
        return [
            dict(zip(self.names, values, strict=True)) for values in itertools.product(*choices)
        ]

    def bind(self, given: Sequence[object] | Mapping[str, object]) -> dict[str, Value]:
        """The parameters' values, from a list in the order of the hints or from a mapping.

        A mapping may also hold arguments, which are left out. A choice must be one of its
        words; a number may be any number, also outside the hinted ones.
        """
        named = self._named(given)
        lacking = [name for name in self.names if name not in named]
        if lacking:
            raise InvalidInput(
                f"no value for {', '.join(lacking)}; the template takes {self._takes()}"
            )
        return {one.name: _bound(one, named[one.name]) for one in self.parameters}

    def render(
        self,
        given: Sequence[object] | Mapping[str, object],
        arguments: Mapping[str, object] | None = None,
    ) -> str:
        """The command with everything filled in; words are quoted for the shell where needed."""
        values: dict[str, object] = dict(self.bind(given))
        extra = _underscored({**(given if isinstance(given, Mapping) else {}), **(arguments or {})})
        for name in self.arguments:
            if name not in extra:
                raise InvalidInput(f"no value for argument {name}; give it by name")
            values[name] = extra[name]
        return "".join(
            piece.literal if piece.name is None else _shown(values[piece.name])
            for piece in self.pieces
        )

    def text(self) -> str:
        """The template in full spelling; parsing it gives an equal template."""
        by_name = {parameter.name: parameter for parameter in self.parameters}
        spelled = []
        for piece in self.pieces:
            if piece.name is None:
                spelled.append(piece.literal.replace("{", "{{").replace("}", "}}"))
            elif (parameter := by_name.pop(piece.name, None)) is None:
                spelled.append(f"{{{piece.name}}}")
            else:
                separator = "," if parameter.kind is Kind.NUMBER else "|"
                spelled.append(f"{{{piece.name}: {separator.join(map(_plain, parameter.values))}}}")
        return "".join(spelled)

    def _named(self, given: Sequence[object] | Mapping[str, object]) -> dict[str, object]:
        if isinstance(given, Mapping):
            named = _underscored(given)
            unknown = [name for name in named if name not in (*self.names, *self.arguments)]
            if unknown:
                raise InvalidInput(
                    f"the template has no parameter {unknown[0]!r}; it takes {self._takes()}"
                )
            return named
        if len(given) != len(self.parameters):
            raise InvalidInput(f"{len(given)} values were given, but the template takes "
                               f"{len(self.parameters)}: {self._takes()}")  # fmt: skip
        return dict(zip(self.names, given, strict=True))

    def _takes(self) -> str:
        return ", ".join(self.names) or "none"


def parse_template(command: str) -> Template:
    """A Template, or an InvalidInput that names what is wrong and what to write."""
    parameters: list[Parameter] = []
    pieces: list[Piece] = []
    for literal, body in _split(command):
        if literal:
            pieces.append(Piece(literal=literal))
        if body is None:
            continue
        if _NAME.match(body.strip()):
            pieces.append(Piece(name=body.strip().replace("-", "_")))
            continue
        parameter = _hint(body, otherwise=_implied_name(literal, len(parameters) + 1))
        if any(parameter.name == other.name for other in parameters):
            raise InvalidInput(
                f"two hints are called {parameter.name}; name one of them, "
                f"as in {{{parameter.name}2: {body.strip()}}}"
            )
        parameters.append(parameter)
        pieces.append(Piece(name=parameter.name))
    if not command.strip():
        raise InvalidInput("the command template is empty; give a command with hints as {1,2,5}")
    return Template(parameters=tuple(parameters), pieces=tuple(pieces))


def _split(command: str) -> Iterable[tuple[str, str | None]]:
    """Pairs of literal text and the body of the braces behind it; the last body may be None."""
    literal: list[str] = []
    position = 0
    while position < len(command):
        two, one = command[position : position + 2], command[position]
        if two in ("{{", "}}"):
            literal.append(one)
            position += 2
        elif one == "}":
            raise InvalidInput(
                f"'}}' at character {position + 1} of the template closes nothing; "
                "write }} for a brace"
            )
        elif one == "{":
            end = command.find("}", position)
            if end < 0 or "{" in command[position + 1 : end]:
                raise InvalidInput(
                    f"the hint at character {position + 1} of the template, "
                    f"{command[position : position + 20]!r}, is not closed; "
                    "close it with }, or write {{ for a brace"
                )
            yield "".join(literal), command[position + 1 : end]
            literal, position = [], end + 1
        else:
            literal.append(one)
            position += 1
    yield "".join(literal), None


def _implied_name(literal: str, place: int) -> str:
    option = _OPTION.search(literal)
    return option[1].replace("-", "_") if option else f"arg{place}"


def _hint(body: str, *, otherwise: str) -> Parameter:
    named = _NAMED.match(body)
    name, values = (named[1].replace("-", "_"), named[2]) if named else (otherwise, body)
    if not values.strip():
        raise InvalidInput(f"the hint for {name} is empty; write values as {{{name}: 1,2,5}}")
    if "|" in values:
        return Parameter(name=name, kind=Kind.CHOICE, values=_choices(name, values))
    span = _RANGE.match(values.strip())
    numbers = _range(name, span) if span else _numbers(name, values)
    return Parameter(name=name, kind=Kind.NUMBER, values=numbers)


def _choices(name: str, values: str) -> tuple[Value, ...]:
    words = [word.strip() for word in values.split("|")]
    if not all(words):
        raise InvalidInput(f"the hint for {name} has an empty choice; write {{{name}: adam|sgd}}")
    return _distinct(name, words)


def _numbers(name: str, values: str) -> tuple[Value, ...]:
    return _distinct(name, [_number(name, word) for word in values.split(",")])


def _distinct(name: str, values: Sequence[Value]) -> tuple[Value, ...]:
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise InvalidInput(f"the hint for {name} has {_plain(twice)} twice; write it once")
    if len(values) > _MOST:
        raise InvalidInput(f"the hint for {name} has {len(values)} values; at most {_MOST} can be")
    return tuple(values)


def _number(name: str, word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        said = repr(word.strip()) if word.strip() else "an empty value"
        raise InvalidInput(
            f"the hint for {name} has {said}, which is not a number; "
            f"write numbers as {{1,2,5}} and words as {{adam|sgd}}"
        )
    return number


def _range(name: str, span: re.Match[str]) -> tuple[Value, ...]:
    low, high = _number(name, span[1]), _number(name, span[2])
    if low >= high:
        raise InvalidInput(f"the range for {name} must rise, but {low:g} is not below {high:g}")
    if span[3] is not None:
        step = _number(name, span[3])
        if step <= 0:
            raise InvalidInput(f"the step of the range for {name} must be above 0, not {step:g}")
        count = math.floor((high - low) / step + 1e-9) + 1
        if count > _MOST:
            raise InvalidInput(
                f"the range for {name} has {count} values; widen its step to {_MOST} at most"
            )
        return tuple(low + step * place for place in range(count))
    wanted = _SPREAD if span[4] is None else _number(name, span[4])
    if wanted != int(wanted) or not 2 <= wanted <= _MOST:
        raise InvalidInput(
            f"the number of values in the range for {name} is 2 to {_MOST}, not {wanted:g}"
        )
    return tuple(_spread(low, high, int(wanted)))


def _spread(low: float, high: float, count: int) -> list[float]:
    """From end to end, by equal factors where both are positive; whole where both ends are."""
    shares = [place / (count - 1) for place in range(count)]
    if low > 0:
        inner = [low * (high / low) ** share for share in shares]
    else:
        inner = [low + (high - low) * share for share in shares]
    inner[0], inner[-1] = low, high
    whole = low.is_integer() and high.is_integer()
    return list(dict.fromkeys(float(round(value)) for value in inner)) if whole else inner


def _underscored(given: Mapping[str, object]) -> dict[str, object]:
    return {str(name).replace("-", "_"): value for name, value in given.items()}


def _bound(parameter: Parameter, given: object) -> Value:
    if parameter.kind is Kind.CHOICE:
        word = str(given)
        if word not in parameter.values:
            raise InvalidInput(
                f"{parameter.name} is one of {', '.join(map(str, parameter.values))}, not {word!r}"
            )
        return word
    try:
        number = float(given)  # type: ignore[arg-type]  # anything else is refused just below
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidInput(f"{parameter.name} is a number, not {given!r}")
    return number


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _shown(value: object) -> str:
    return shlex.quote(_plain(value))
