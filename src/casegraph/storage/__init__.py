"""Everything that is kept on disk: case files and stores."""
