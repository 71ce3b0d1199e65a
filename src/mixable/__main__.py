"""`python -m mixable` is `mixable`."""

from mixable.cli import main

if __name__ == "__main__":
    main()
