"""Single measurements behind the library's constants, each run by itself: `python -m benchmarks.sweeps.NAME`."""
