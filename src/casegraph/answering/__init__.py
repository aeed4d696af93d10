"""From counts to answers and their reasons (equation 1)."""
