"""Doors for programs of other people: what plays, or reads what was played, over somebody else's protocol."""
