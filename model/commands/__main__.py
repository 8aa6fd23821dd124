"""Entry point of `python -m headlight` in an installed package; the build copies this file to the package root."""

import sys

from headlight import main

if __name__ == "__main__":
    sys.exit(main())
