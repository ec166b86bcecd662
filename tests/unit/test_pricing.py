"""Prices: the published costs come out, other price files replace them, faults are named."""

from __future__ import annotations

import math
import tomllib

import pytest

from acai.model.errors import InvalidInput
from acai.provisioning.pricing import DEFAULT_PRICES, cost, prices_from
from acai.provisioning.trials import Configuration


@pytest.mark.parametrize(
    ("cpu", "memory", "minutes", "published"),
    [
        (7.5, 3584, 16.6, 0.08837),
        (8, 3328, 37.4, 0.21800),
        (2.5, 512, 52.6, 0.0597),
        (2.5, 512, 140.4, 0.1595),
    ],
)
def test_the_published_costs_come_out(
    cpu: float, memory: float, minutes: float, published: float
) -> None:
    reckoned = cost(DEFAULT_PRICES, Configuration(cpu=cpu, memory_mb=memory), minutes * 60)
    assert reckoned == pytest.approx(published, rel=1e-3)


@pytest.mark.parametrize(("minutes", "published"), [(64.6, 0.09765), (162.2, 0.24519)])
def test_the_published_baselines_come_out_within_a_hundredth(
    minutes: float, published: float
) -> None:
    reckoned = cost(DEFAULT_PRICES, Configuration(cpu=2, memory_mb=7680), minutes * 60)
    assert reckoned == pytest.approx(published, rel=0.01)


def test_unit_prices_run_from_two_to_four_thirds_and_stay_there_outside() -> None:
    def per_cpu(cpu: float) -> float:
        alone = prices_from({"kind": "linear", "gb_hour": 0})
        return alone.hourly(Configuration(cpu=cpu, memory_mb=512)) / cpu

    assert per_cpu(0.5) == pytest.approx(0.031611 * 2 / 3)
    assert per_cpu(8) == pytest.approx(0.031611 * 4 / 3)
    assert per_cpu(4.25) == pytest.approx(0.031611)
    assert per_cpu(0.1) == per_cpu(0.5)
    assert per_cpu(64) == per_cpu(8)


def test_a_linear_file_without_figures_is_the_default() -> None:
    assert prices_from({"kind": "linear"}) == DEFAULT_PRICES


def test_flat_prices() -> None:
    prices = prices_from({"kind": "flat", "cpu_hour": 0.04, "gb_hour": 0.01, "gpu_hour": 2})
    assert prices.hourly(Configuration(cpu=2, memory_mb=4096)) == pytest.approx(0.12)
    assert prices.hourly(Configuration(cpu=2, memory_mb=4096, gpu=1)) == pytest.approx(2.12)


def test_a_job_pays_for_the_cheapest_type_that_holds_it() -> None:
    table = tomllib.loads(
        """
        kind = "instances"
        currency = "€"
        [[types]]
        name = "small"
        cpu = 2
        memory_mb = 8192
        hourly = 0.10
        [[types]]
        name = "large"
        cpu = 8
        memory_mb = 32768
        hourly = 0.40
        """
    )
    prices = prices_from(table)
    assert prices.currency == "€"
    assert prices.hourly(Configuration(cpu=0.5, memory_mb=512)) == 0.10
    assert prices.hourly(Configuration(cpu=2, memory_mb=9000)) == 0.40
    assert math.isinf(prices.hourly(Configuration(cpu=16, memory_mb=512)))


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({}, "kind"),
        ({"kind": "free"}, "'free'"),
        ({"kind": "flat", "cpu_hour": 0.1}, "gb_hour"),
        ({"kind": "flat", "cpu_hour": -1, "gb_hour": 0}, "cpu_hour"),
        ({"kind": "flat", "cpu_hour": True, "gb_hour": 0}, "cpu_hour"),
        ({"kind": "linear", "cpu_range": [8, 0.5]}, "cpu_range"),
        ({"kind": "linear", "factors": [1]}, "factors"),
        ({"kind": "linear", "cpuhour": 1}, "cpuhour"),
        ({"kind": "instances", "types": []}, "types"),
        ({"kind": "instances", "types": [{"name": "a", "cpu": 1, "memory_mb": 1}]}, "hourly"),
    ],
)
def test_a_faulty_price_file_is_refused_by_the_key(table: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        prices_from(table)


def test_a_negative_time_has_no_cost() -> None:
    with pytest.raises(InvalidInput, match="-3"):
        cost(DEFAULT_PRICES, Configuration(cpu=1, memory_mb=512), -3)
