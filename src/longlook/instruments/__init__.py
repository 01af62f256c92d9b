"""Instruments: commands that use the laboratory for more than one study's question, each in a folder of its own.

A folder has `command`, its commands for typer; `run`, the work; `show`, the output on a terminal; and `page`, its page
or figures, if it has any. `cli` alone imports instruments. An instrument imports no other, and nothing else imports it.
"""
