"""The published games: what they are called, where they lie, how they are fetched, checked and counted."""
