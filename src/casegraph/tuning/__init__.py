"""Tuning to a graph, on held-out facts of its own: how to combine evidence, and probabilities."""
