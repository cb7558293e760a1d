"""Widgets that several screens share: a choice, the bar of keys, the palette, lines of text."""
