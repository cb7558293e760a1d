"""An episode as a screen shows it, live or replayed: its `state`, its panes on a `stage`, and how a
`recording` is read back.

`house`, `story` and `view` are panes; `view_drawing` draws for the last. `ending` is the card at the end, and `branches_dialog`
shows the branches of a rewound game.
"""
