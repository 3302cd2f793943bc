"""What experiments measure of a fit beyond its own metrics."""
