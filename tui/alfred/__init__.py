"""ALFRED on the screen and on the command line: episodes by a camera, and plans to score."""
