"""`python -m emqsim` is the command `emqsim`."""

import sys

from emqsim.cli import main

sys.exit(main())
