"""`python -m casegraph` is the same as the command `casegraph`."""

from casegraph.cli import main

if __name__ == "__main__":
    main()
