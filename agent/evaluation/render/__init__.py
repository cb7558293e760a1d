"""Write reports: ``report`` of one run, ``comparison`` of two, built from the columns and tables in ``table``.

``export`` writes Markdown and CSV, ``pages`` self-contained HTML.
"""
