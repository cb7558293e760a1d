"""``python -m housequest``."""

from housequest import main

if __name__ == "__main__":
    main()
