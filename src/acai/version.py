"""The platform's version, in the one place that packaging reads it from."""

__version__ = "0.1.0"
