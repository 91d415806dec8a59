"""The machine behind the Redis protocol: a server for tests, on a virtual clock that the test moves.

    resp        what an answer can be, RESP2 and RESP3, reading commands
    registry    the table of commands
    keyspace    one database: keys, expiry, clock; **the queue's keys are the state of the machines**
    modelled    the machines on the keyspace: which queues the model can answer for
    commands/   plain commands, one file a data type

It imports the core, `emqsim.scripts`, `emqsim.sources` and `emqsim.text`; of `emqsim.server`, `wire` and `errors`.
"""
