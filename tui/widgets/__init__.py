"""Widgets that several screens share: bars, a choice, the bar of keys, lines of text."""
