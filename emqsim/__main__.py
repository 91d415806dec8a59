"""`python -m emqsim` is the command `emqsim`."""

import sys

from emqsim.commands.main import main

sys.exit(main())
