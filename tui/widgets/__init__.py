"""Widgets that several screens share: bars, a choice, the bar of keys, the palette, lines of text."""
