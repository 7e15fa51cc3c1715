"""``python -m coordinator`` and the console script ``procession``."""

from coordinator.cli.main import main

if __name__ == "__main__":
    main()
