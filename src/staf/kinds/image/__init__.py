"""Everything about images: the signal, its files, its task and its pictures."""
