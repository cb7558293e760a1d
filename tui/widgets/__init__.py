"""Widgets that several screens share: lists and choices, the keys, lines of text, pictures in block characters."""
