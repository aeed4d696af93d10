"""Batch work: propose the facts that are missing, and audit those that are there."""
