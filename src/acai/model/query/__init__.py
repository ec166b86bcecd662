"""The query language: one for files, sets and jobs.

`parse_query` reads what a user wrote, `resolve` fixes it to a moment and a caller, and
`evaluate.select` says what it means; stores compile the resolved query to their own SQL.
"""

from acai.model.query.evaluate import Entity, matches, select
from acai.model.query.formatting import format_condition, format_query
from acai.model.query.matcher import compile_pattern
from acai.model.query.parser import parse_query
from acai.model.query.pattern import PatternError, postgres_pattern
from acai.model.query.resolve import resolve

__all__ = [
    "Entity",
    "PatternError",
    "compile_pattern",
    "format_condition",
    "format_query",
    "matches",
    "parse_query",
    "postgres_pattern",
    "resolve",
    "select",
]
