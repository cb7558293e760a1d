"""An episode as a screen shows it, live or replayed.

`state` applies events, `house_state` says what the House shows; `stage` lays out `house`, `story`, `mind` and
`view` under a `header`, and `ending` shows how it ended. The View's lines come from `view_drawing`, with `labels` on them.
`branches` reads the other ways that a rewound game went, and `branches_dialog` puts them side by side.
"""
