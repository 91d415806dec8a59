"""The Lua of the machine: each transition as a script in `lua/`, one file a script, named as the server knows it.

`bundle` says which script a transition runs, `prelude` puts the virtual clock in front of it. This folder may
import the transition table and what that stands on; it knows no server and no command.
"""
