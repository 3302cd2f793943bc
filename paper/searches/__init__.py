"""Searches with the same number of trials for every network, and the logs they leave."""
