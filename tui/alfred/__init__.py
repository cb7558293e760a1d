"""ALFRED on the screen and on the command line: the view of a camera, and runs that score plans."""
