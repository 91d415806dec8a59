"""Where scripts come from: `load_scripts` reads them from `.lua` files, Elixir sources and folders.

`load` walks the files, `elixir` reads one kind of source. This folder imports nothing of the machine: a source is
text, and whether a name is a script's is for its callers to say.
"""

from emqsim.sources.load import load_all, load_scripts

__all__ = ["load_all", "load_scripts"]
