"""Play runs and keep their folders.

``spec`` resolves what a run is and its tasks; ``batch`` plays them, and ``folder`` keeps each result in ``files``. ``budget``
counts and limits what a run uses; ``usage`` has its timing and its cost, also in advance. ``sweep`` plans several runs, and
``shard`` puts the parts of one together.
"""
