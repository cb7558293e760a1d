"""The curator's desk: rules with their evidence.

`state` is the desk as a value (filters, marks, undo) with what it reads: books, records and witnesses. `rule_text` is a rule as
text, typed or printed, and `rule_dialog` where one is written, taught or merged. `rule_view` draws, and
`screen` has the desk and the list of books.
"""
