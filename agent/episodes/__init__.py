"""An episode: one agent plays one task, and everything that happens becomes an event.

``loop`` plays it, ``events`` defines the events, ``emitter`` sends them and keeps the state, ``overseer`` lets a person step
in. ``record`` writes and reads episodes, ``resume`` continues one that broke off, ``moments`` turns recorded episodes into
evidence for rules, and ``drawing`` makes scenes of them, to be drawn.
"""
