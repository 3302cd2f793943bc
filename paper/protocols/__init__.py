"""How a network is trained in an experiment: published schedules, variants of a plan, the released loop."""
