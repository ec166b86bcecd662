"""Templates, run-time and memory models, prices and the search for a configuration.

Everything here is pure: values in, values out. Nothing starts a job, opens a database or reads
a clock. Modules that compute with arrays import numpy, so that importing this package costs
nothing; `hints`, `pricing` and `trials` do without.
"""
