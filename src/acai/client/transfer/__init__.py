"""Moving files between this machine and the lake: many at once, resumable, verified."""
