"""The sub-commands of ``housequest``, those that are read together in a file; what is heavy is imported when a command runs."""
