"""Every state that a queue can get into, visited on the real model, and what holds in all of them.

`explore` runs the search; `always`, `sometimes` and `eventually` make properties of one's own;
`emqsim.explore.fixes` has the scripts and rules under which nothing is broken.
"""

from emqsim.explore.clients import Clients
from emqsim.explore.properties import Kind, Property, always, eventually, sometimes
from emqsim.explore.report import Bounds, Exploration, Outcome
from emqsim.explore.search import explore

__all__ = [
    "Bounds",
    "Clients",
    "Exploration",
    "Kind",
    "Outcome",
    "Property",
    "always",
    "eventually",
    "explore",
    "sometimes",
]
