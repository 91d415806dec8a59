"""What tests of producers and workers use: assertions here, fixtures in `pytest_plugin`, which pytest finds by itself.

This folder may import the core, `text` and, where a server is asked for, `emqsim.server`; nothing but commands may
import it.
"""

from emqsim.testing.assertions import assert_empty, assert_enqueued, assert_job, refute_enqueued

__all__ = ["assert_empty", "assert_enqueued", "assert_job", "refute_enqueued"]
