"""One module per table or figure: published numbers, networks, protocol."""
