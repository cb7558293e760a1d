"""HTML pages of runs and comparisons, each one self-contained file.

``render`` picks the figures and fills the templates (``*.html``, ``charts.svg``, ``style.css``, ``filter.js``), and
``episodes`` adds transcripts and drawings as far as the page has room.
"""
