"""The sub-commands of ``housequest``, one a file; what is heavy is imported when a command runs."""
