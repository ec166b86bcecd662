"""Decides whether a pattern is found in a text, in time linear in the text.

The pattern becomes a small program whose possible positions are followed all at once; each
set of positions is a state, and what a character does to a state is worked out once and
remembered. So no pattern can make a search run away, and a usual one costs a dictionary
look-up per character.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from acai.model.query.pattern import (
    Alternatives,
    Anchor,
    Characters,
    PatternError,
    Regex,
    Repeat,
    Sequence,
    parse_pattern,
)

MAX_INSTRUCTIONS = 2000
_MAX_REMEMBERED = 10_000

# An instruction: take a character and go on, go on if at an end, or go on to several places.
# Its own place is its index; `None` stands for "found".
_Instruction = Characters | Anchor | tuple[int, ...] | None


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """A function that says whether the pattern occurs in a text; PatternError as parse_pattern.

    It may be shared between threads.
    """
    program: list[_Instruction] = []
    _emit(parse_pattern(pattern), program)
    program.append(None)
    return _Search(program)


def _emit(regex: Regex, program: list[_Instruction]) -> None:
    if len(program) > MAX_INSTRUCTIONS:
        raise PatternError(0, "the pattern is too large", "fewer or smaller repeats")
    match regex:
        case Characters() | Anchor():
            program.append(regex)
        case Sequence():
            for part in regex.parts:
                _emit(part, program)
        case Alternatives():
            _emit_alternatives(regex, program)
        case Repeat():
            _emit_repeat(regex, program)


def _emit_alternatives(regex: Alternatives, program: list[_Instruction]) -> None:
    fork = len(program)
    program.append(())
    starts, ends = [], []
    for branch in regex.branches:
        starts.append(len(program))
        _emit(branch, program)
        ends.append(len(program))
        program.append(())
    program[fork] = tuple(starts)
    for end in ends:
        program[end] = (len(program),)


def _emit_repeat(regex: Repeat, program: list[_Instruction]) -> None:
    for _ in range(regex.least):
        _emit(regex.body, program)
    if regex.most is None:
        fork = len(program)
        program.append(())
        _emit(regex.body, program)
        program.append((fork,))
        program[fork] = (fork + 1, len(program))
        return
    forks = []
    for _ in range(regex.most - regex.least):
        forks.append(len(program))
        program.append(())
        _emit(regex.body, program)
    for fork in forks:
        program[fork] = (fork + 1, len(program))


class _State:
    __slots__ = ("after", "found", "found_at_end", "places")

    def __init__(self, places: frozenset[int], found: bool, found_at_end: bool) -> None:
        self.places = places
        self.found = found
        self.found_at_end = found_at_end
        self.after: dict[str, _State] = {}


class _Search:
    def __init__(self, program: list[_Instruction]) -> None:
        self._program = program
        self._states: dict[frozenset[int], _State] = {}
        self._remembered = 0
        at_start = self._reach([0], at_start=True, at_end=False)
        empty = self._reach([0], at_start=True, at_end=True)
        self._start = self._state(at_start)
        self._found_in_empty = len(program) - 1 in empty

    def __call__(self, text: str) -> bool:
        if not text:
            return self._found_in_empty
        state = self._start
        for character in text:
            if state.found:
                return True
            state = state.after.get(character) or self._step(state, character)
        return state.found or state.found_at_end

    def _step(self, state: _State, character: str) -> _State:
        code = ord(character)
        onward = [0]  # the pattern may begin at any character
        for place in state.places:
            instruction = self._program[place]
            if isinstance(instruction, Characters) and (
                any(low <= code <= high for low, high in instruction.ranges) != instruction.negated
            ):
                onward.append(place + 1)
        following = self._state(self._reach(onward, at_start=False, at_end=False))
        if self._remembered >= _MAX_REMEMBERED:
            self._states = {}
            self._remembered = 0
            state.after = {}
            self._start.after = {}
        self._remembered += 1
        state.after[character] = following
        return following

    def _state(self, places: frozenset[int]) -> _State:
        state = self._states.get(places)
        if state is None:
            last = len(self._program) - 1
            ended = self._reach(places, at_start=False, at_end=True)
            state = self._states[places] = _State(places, last in places, last in ended)
        return state

    def _reach(self, places: Iterable[int], *, at_start: bool, at_end: bool) -> frozenset[int]:
        """The places where a character, an end of the text, or success is waited for."""
        reached: set[int] = set()
        seen: set[int] = set()
        todo = list(places)
        while todo:
            place = todo.pop()
            if place in seen:
                continue
            seen.add(place)
            instruction = self._program[place]
            if isinstance(instruction, tuple):
                todo.extend(instruction)
            elif not isinstance(instruction, Anchor):
                reached.add(place)
            elif at_start if instruction.at_start else at_end:
                todo.append(place + 1)
            elif not instruction.at_start:
                reached.add(place)
        return frozenset(reached)
