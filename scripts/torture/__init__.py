"""`python -m scripts.torture` attacks the installed command as a stranger would, and says what was lost, doubled or wrong.

It runs the command line, speaks HTTP and reads files as JSON; nothing of housequest is imported, so that its own code cannot
excuse it. Every trial attacks one run, removes the cause, runs the same command to its end and compares the folder with that
of an undisturbed run.
"""
