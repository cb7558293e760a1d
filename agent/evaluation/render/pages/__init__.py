"""HTML pages of runs and comparisons, each one self-contained file.

``render`` fills the templates (``*.html``, ``style.css``, ``filter.js``); ``figures`` picks the figures, ``charts`` draws SVG,
and ``episodes`` adds transcripts as far as the page has room.
"""
