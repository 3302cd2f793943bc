"""Images of many millions of pixels: decoded once, kept as integers, seen and written in tiles."""
