"""What is chosen for a graph by asking it for facts that it has: combinations and probabilities."""
