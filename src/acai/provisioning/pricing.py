"""What a configuration costs while it runs. Prices are data: a mapping, as read from a file.

kind = "linear"                  # the default's own figures
cpu_hour = 0.031611              # on-demand base, per vCPU-hour
gb_hour = 0.004237               # and per GB-hour (1 GB = 1024 MB)
cpu_range = [0.5, 8]             # between these the unit price rises linearly …
memory_range_mb = [512, 8192]
factors = [0.6667, 1.3333]       # … from the first to the second multiple of its base

kind = "flat"                    # cpu_hour, gb_hour, gpu_hour as they are
kind = "instances"               # a job pays for the cheapest type that holds it
[[types]]
name = "n1-standard-2"
cpu = 2
memory_mb = 7680
hourly = 0.095
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from acai.model.errors import InvalidInput
from acai.provisioning.trials import Configuration

MB_PER_GB = 1024


class Prices(Protocol):
    @property
    def currency(self) -> str: ...

    def hourly(self, configuration: Configuration) -> float:
        """The price of an hour; infinite where the configuration is not to be had."""
        ...


def cost(prices: Prices, configuration: Configuration, seconds: float) -> float:
    """What `seconds` of a configuration cost."""
    if seconds < 0:
        raise InvalidInput(f"a run of {seconds:g} seconds has no cost; give a time of 0 or more")
    return prices.hourly(configuration) * seconds / 3600


@dataclass(frozen=True, kw_only=True)
class FlatPrices:
    cpu_hour: float
    gb_hour: float
    gpu_hour: float = 0.0
    currency: str = "$"

    def hourly(self, configuration: Configuration) -> float:
        return (
            configuration.cpu * self.cpu_hour
            + configuration.memory_mb / MB_PER_GB * self.gb_hour
            + configuration.gpu * self.gpu_hour
        )


@dataclass(frozen=True, kw_only=True)
class LinearPrices:
    """Unit prices that rise with the amount: large jobs pay for scaling up.

    Outside its range a unit price stays what it is at the nearer end.
    """

    cpu_hour: float = 0.031611
    gb_hour: float = 0.004237
    gpu_hour: float = 0.0
    cpu_range: tuple[float, float] = (0.5, 8.0)
    memory_range_mb: tuple[float, float] = (512.0, 8192.0)
    factors: tuple[float, float] = (2 / 3, 4 / 3)
    currency: str = "$"

    def hourly(self, configuration: Configuration) -> float:
        cpu = self.cpu_hour * self._factor(configuration.cpu, self.cpu_range)
        gb = self.gb_hour * self._factor(configuration.memory_mb, self.memory_range_mb)
        return (
            configuration.cpu * cpu
            + configuration.memory_mb / MB_PER_GB * gb
            + configuration.gpu * self.gpu_hour
        )

    def _factor(self, amount: float, between: tuple[float, float]) -> float:
        low, high = between
        share = min(1.0, max(0.0, (amount - low) / (high - low)))
        return self.factors[0] + (self.factors[1] - self.factors[0]) * share


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    name: str
    cpu: float
    memory_mb: float
    hourly: float
    gpu: float = 0.0

    def holds(self, configuration: Configuration) -> bool:
        return (
            configuration.cpu <= self.cpu
            and configuration.memory_mb <= self.memory_mb
            and configuration.gpu <= self.gpu
        )


@dataclass(frozen=True, kw_only=True)
class InstancePrices:
    """A job pays for a whole machine: the cheapest type that holds it."""

    types: tuple[InstanceType, ...]
    currency: str = "$"

    def hourly(self, configuration: Configuration) -> float:
        chosen = self.cheapest(configuration)
        return math.inf if chosen is None else chosen.hourly

    def cheapest(self, configuration: Configuration) -> InstanceType | None:
        fitting = (kind for kind in self.types if kind.holds(configuration))
        return min(fitting, key=lambda kind: (kind.hourly, kind.name), default=None)


DEFAULT_PRICES = LinearPrices()


def prices_from(table: Mapping[str, Any]) -> Prices:
    """Prices out of a price file's contents; every fault is an InvalidInput that names its key."""
    kinds: dict[str, Callable[[_Reader], Prices]] = {
        "flat": _flat,
        "linear": _linear,
        "instances": _instances,
    }
    kind = table.get("kind")
    if kind not in kinds:
        raise InvalidInput(f"a price file's kind is one of {', '.join(kinds)}, not {kind!r}")
    reader = _Reader(table=table, of=f"the {kind} price file")
    prices = kinds[kind](reader)
    reader.refuse_unknown()
    return prices


def _flat(reader: _Reader) -> Prices:
    return FlatPrices(
        cpu_hour=reader.amount("cpu_hour"),
        gb_hour=reader.amount("gb_hour"),
        gpu_hour=reader.amount("gpu_hour", 0.0),
        currency=reader.text("currency", "$"),
    )


def _linear(reader: _Reader) -> Prices:
    usual = DEFAULT_PRICES
    return LinearPrices(
        cpu_hour=reader.amount("cpu_hour", usual.cpu_hour),
        gb_hour=reader.amount("gb_hour", usual.gb_hour),
        gpu_hour=reader.amount("gpu_hour", usual.gpu_hour),
        cpu_range=reader.rising("cpu_range", usual.cpu_range),
        memory_range_mb=reader.rising("memory_range_mb", usual.memory_range_mb),
        factors=reader.pair("factors", usual.factors),
        currency=reader.text("currency", "$"),
    )


def _instances(reader: _Reader) -> Prices:
    rows = reader.rows("types")
    return InstancePrices(
        types=tuple(_instance(row, number) for number, row in enumerate(rows, 1)),
        currency=reader.text("currency", "$"),
    )


def _instance(row: Mapping[str, Any], number: int) -> InstanceType:
    reader = _Reader(table=row, of=f"type {number} of the price file")
    kind = InstanceType(
        name=reader.text("name"),
        cpu=reader.amount("cpu"),
        memory_mb=reader.amount("memory_mb"),
        hourly=reader.amount("hourly"),
        gpu=reader.amount("gpu", 0.0),
    )
    reader.refuse_unknown()
    return kind


@dataclass(frozen=True, kw_only=True)
class _Reader:
    """Typed reading of one table; remembers which keys were asked for."""

    table: Mapping[str, Any]
    of: str
    known: set[str] = field(default_factory=lambda: {"kind"})

    def amount(self, key: str, otherwise: float | None = None) -> float:
        value = self._get(key, otherwise)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidInput(f"{key} in {self.of} must be a number, not {value!r}")
        if not math.isfinite(value) or value < 0:
            raise InvalidInput(f"{key} in {self.of} must be 0 or more, not {value:g}")
        return float(value)

    def text(self, key: str, otherwise: str | None = None) -> str:
        value = self._get(key, otherwise)
        if not isinstance(value, str) or not value:
            raise InvalidInput(f"{key} in {self.of} must be a word, not {value!r}")
        return value

    def pair(self, key: str, otherwise: tuple[float, float]) -> tuple[float, float]:
        value = self._get(key, otherwise)
        if not isinstance(value, Sequence) or len(value) != 2:
            raise InvalidInput(f"{key} in {self.of} must be two numbers, as [0.5, 8]")
        both = _Reader(table={"first": value[0], "second": value[1]}, of=f"{key} of {self.of}")
        return both.amount("first"), both.amount("second")

    def rising(self, key: str, otherwise: tuple[float, float]) -> tuple[float, float]:
        low, high = self.pair(key, otherwise)
        if low >= high:
            raise InvalidInput(f"{key} in {self.of} must rise, but {low:g} is not below {high:g}")
        return low, high

    def rows(self, key: str) -> list[Mapping[str, Any]]:
        value = self._get(key, None)
        if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
            raise InvalidInput(f"{key} in {self.of} must be a list of tables")
        if not value:
            raise InvalidInput(f"{key} in {self.of} is empty; list at least one instance type")
        return value

    def refuse_unknown(self) -> None:
        unknown = sorted(set(self.table) - self.known)
        if unknown:
            raise InvalidInput(
                f"{self.of} has no key {unknown[0]!r}; it knows {', '.join(sorted(self.known))}"
            )

    def _get(self, key: str, otherwise: Any) -> Any:
        self.known.add(key)
        if key in self.table:
            return self.table[key]
        if otherwise is None:
            raise InvalidInput(f"{self.of} lacks {key}")
        return otherwise
