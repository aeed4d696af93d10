"""What keeps the documents true and the code readable; not part of the package."""
