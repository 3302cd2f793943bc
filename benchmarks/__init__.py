"""The full speed suites, ours beside the released formulas: `python -m benchmarks --suite gpu --out FILE`.

Not part of the installed package: run it from a checkout. Timing, the gate and the short suite are in
`staf.benchmarking`; here are the longer suites, what a machine can do at best, the marks, and single sweeps.
"""
