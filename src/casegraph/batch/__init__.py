"""Batch work: propose missing facts, and audit existing ones."""
