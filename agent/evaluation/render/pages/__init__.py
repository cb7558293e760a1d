"""Runs and comparisons as one self-contained page each: templates, style, charts, and what they are filled with."""
