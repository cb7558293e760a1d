"""The core's commands, those that are read together in a file; what is heavy is imported when a command runs."""
