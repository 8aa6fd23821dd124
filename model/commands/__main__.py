"""`python -m headlight` where Headlight is installed: the build puts this file into the package's own folder."""

import sys

from headlight import main

if __name__ == "__main__":
    sys.exit(main())
