"""A live game: its `session`, the screens that show it, and what plays it without a screen (`plain`)."""
