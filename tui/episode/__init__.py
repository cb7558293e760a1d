"""An episode as a screen shows it, live or replayed.

`state` applies events, `story_state` and `house_state` say what the panes show; `stage` lays out `house`, `story` and
`mind` under a `header`, and `ending` shows how it ended.
"""
