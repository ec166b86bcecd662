"""The search for a fleet: which instance type and how many, counting what the search spends.

Needs numpy, which nothing outside this package has to import.
"""

from acai.provisioning.fleet.cloud import Cloud, Configuration, Limit, Observation
from acai.provisioning.fleet.goals import Goal, cheapest_before, fastest, fastest_within
from acai.provisioning.fleet.ledger import Trial
from acai.provisioning.fleet.optimiser import Plan, Settings, search
from acai.provisioning.fleet.replay import Row, TableCloud
from acai.provisioning.fleet.surrogate import Prior, Space

__all__ = [
    "Cloud",
    "Configuration",
    "Goal",
    "Limit",
    "Observation",
    "Plan",
    "Prior",
    "Row",
    "Settings",
    "Space",
    "TableCloud",
    "Trial",
    "cheapest_before",
    "fastest",
    "fastest_within",
    "search",
]
