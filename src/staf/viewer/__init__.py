"""The page that holds its network, and the local server that shows it."""
