"""The curator's desk: rules with their evidence.

`state` is the desk as a value (filters, marks, undo), `books` and `books_screen` the rulebooks, `draft` and `rule_dialog` a
rule being written, `checking` counts evidence over all records, `witnesses` finds a rule's steps in them, `teaching` makes
a rule from a step. `rule_list`, `rule_view` and `rule_text` draw.
"""
