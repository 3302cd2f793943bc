"""Data of experiments: image files, stacks, recordings, shapes, and small ones made on the spot."""
