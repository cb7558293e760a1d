"""Write reports: ``report`` of one run, ``comparison`` of two runs or series, built from the columns and tables in ``table``.

``export`` writes Markdown and CSV and sets a run beside the literature, ``pages`` writes self-contained HTML.
"""
