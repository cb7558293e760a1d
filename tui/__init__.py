"""What a person meets: the command line and the screen."""
