"""Play runs and keep their folders.

``spec`` resolves what a run is and ``selection`` its tasks; ``batch`` plays them, and ``folder`` keeps each ``result``, with
``timing`` apart. ``budget`` limits what a run uses, ``metered`` counts its model calls, ``cost`` prices them, and ``estimate``
predicts the cost of a run. ``sweep`` (arms and seeds) and ``measurement`` (with and without rules) plan several runs.
"""
