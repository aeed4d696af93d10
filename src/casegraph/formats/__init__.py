"""Reading and writing facts, labels and types in many file formats."""
