"""Plays ALFRED: perception and action policies (`seeing`), the `robot` as a body, and whole plans to score (`plans`)."""
