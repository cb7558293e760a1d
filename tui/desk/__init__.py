"""The curator's desk: rules with their evidence.

`state` is the desk as a value (filters, marks, undo) with what it reads: books and records. `witnesses` finds the steps behind
a rule, and packs a book with them into one file. `rule_text` is a rule as text, typed or printed, and `rule_dialog` where one
is written, taught or merged. `rule_view` draws, and `screen` has the desk and the list of books.
"""
