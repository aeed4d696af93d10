"""Experiments that are not in the package: other systems and protocols, and pictures."""
