"""Episodes by a camera on the screen."""
