"""Run-time models: trials in, a distribution of the run time out.

    fitted = fit_runtime(trials)                       # selection: the best model of the three
    fitted.predict(configurations, values).quantile(0.9)
    fitted.explain()

`loglinear` is a product of powers, `scaling` a fixed set-up plus work that saturates in CPUs,
`residual` learns what is left over. All are Gaussian in the logarithm of the run time around a
trend (`gaussian`), which gives their intervals and what a further trial would teach.
"""
