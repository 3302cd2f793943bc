"""What the tables and figures of the paper have in common: rows of networks, protocols, runs on images."""
