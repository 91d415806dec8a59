"""The command line, `emqsim COMMAND …`: one file a subcommand, which parses its options, calls the library and prints.

`main` finds the command and imports only it; `options` are those that several share; `status` says how a
command ends. A command may import anything. Nothing imports a command.
"""
