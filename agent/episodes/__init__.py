"""An episode: one agent plays one task, and everything that happens becomes an event.

``loop`` plays it and lets a person step in, ``events`` defines the events, ``emitter`` sends them and keeps the state.
``record`` writes and reads episodes, ``resume`` continues one that broke off, ``moments`` turns recorded episodes into evidence
for rules, and ``drawing`` makes scenes of them, to be drawn.
"""
