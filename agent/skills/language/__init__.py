"""Everyday sentences of a person, read against what is known of a house: orders, hints, questions, and a word to stop."""
