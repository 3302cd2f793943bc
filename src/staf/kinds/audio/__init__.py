"""Everything about audio: the signal, its files, its task and its pictures."""
