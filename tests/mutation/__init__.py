"""How good is the check: faulty scripts, made systematically from the bundled ones, and how soon each is found.

`python -m tests.mutation` makes the whole table anew.
"""
