"""Bugs that users of other job queues reported, as programs of calls, and what this machine does with each."""

from emqsim.hazards.catalogue import HAZARDS, Act, Hazard
from emqsim.hazards.play import Moment, Outcome, Playing, play, play_model

__all__ = ["HAZARDS", "Act", "Hazard", "Moment", "Outcome", "Playing", "play", "play_model"]
