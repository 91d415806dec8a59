"""How things read: a call, an answer, a time, a value, the state of a queue, what happened to a job, a move.

Each is put into words here, once, for the check's report, the explorer, the hazards, the pictures, the pages and the
tests' messages. This folder imports `keys`, `dialect` and `results` alone: it is given values, never a machine.
"""
