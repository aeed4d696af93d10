"""The counts of path types, and how updates change them (equations 2 and 3, §2.3)."""
