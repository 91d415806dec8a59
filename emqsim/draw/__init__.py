"""Pictures of the machine: its lifecycle map, a queue's four sets, a timeline; and pages to step through.

Each picture is an SVG with its colours inline and a text that says the same, so that it shows in a notebook, on a
page that strips scripts and styles, and in a terminal.
"""

from emqsim.draw.keyspace import keyspace
from emqsim.draw.lifecycle import lifecycle_map
from emqsim.draw.pages import map_page, stepper_page
from emqsim.draw.sets import four_sets
from emqsim.draw.svg import Picture
from emqsim.draw.timeline import timeline

__all__ = [
    "Picture",
    "four_sets",
    "keyspace",
    "lifecycle_map",
    "map_page",
    "stepper_page",
    "timeline",
]
