"""Print which package imports which, and fail if two import each other, however far apart."""

from __future__ import annotations

import sys
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

import grimp


def main() -> int:
    graph = grimp.build_graph("acai", cache_dir=None)
    edges: dict[str, set[str]] = defaultdict(set)
    for module in graph.modules:
        package = _package(module)
        for imported in graph.find_modules_directly_imported_by(module):
            if _package(imported) != package:
                edges[package].add(_package(imported))
    try:
        order = list(TopologicalSorter(edges).static_order())
    except CycleError as error:
        sys.stderr.write(f"packages import each other: {' → '.join(error.args[1])}\n")
        return 1
    for package in reversed(order):
        if edges[package]:
            sys.stdout.write(f"{package:12} → {', '.join(sorted(edges[package]))}\n")
    sys.stdout.write(f"{len(graph.modules)} modules, {len(order)} packages, no cycle\n")
    return 0


def _package(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "acai"


if __name__ == "__main__":
    sys.exit(main())
