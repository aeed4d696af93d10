"""The open-world experiments (§3.3, §3.4, A.3): graphs that grow, and how well they answer."""
