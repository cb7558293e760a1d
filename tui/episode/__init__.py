"""An episode as a screen shows it, live or replayed: its `state`, its panes on a `stage`, and how a record is read back."""
