"""Queries of `acai.model.query`, as SQL with bound parameters."""

from acai.stores.records.search.running import find

__all__ = ["find"]
