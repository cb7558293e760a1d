"""An episode as a screen shows it, live or replayed.

`state` applies events and `recording` reads a record with all its branches, which `branches_dialog` puts side by side. `stage`
lays out `house`, `story` and `view`; `view_drawing` makes the View's lines, and `ending` shows how a game or a race ended.
"""
