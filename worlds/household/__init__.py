"""What household worlds share, independent of their texts.

`base` is the protocol that a household world implements; `belief`, `goals` and `counts` are its values; `masking` leaves things
out of any text.
"""
