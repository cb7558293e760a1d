"""Play runs and keep their folders.

``spec`` resolves what a run is and ``selection`` its tasks; ``batch`` plays them, and ``folder`` keeps each ``result``, with
``timing`` apart. ``budget`` counts and limits what a run uses, ``cost`` prices it, and ``estimate`` predicts the cost.
``sweep`` (arms and seeds) and ``measurement`` (with and without rules) plan several runs.
"""
