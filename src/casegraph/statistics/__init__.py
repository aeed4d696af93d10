"""What is counted of path types, and what a change does to it (equations 2 and 3, §2.3)."""
