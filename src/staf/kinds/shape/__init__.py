"""Everything about shapes: the signal, its files, its task and its pictures."""
