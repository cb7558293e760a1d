"""What household worlds share: `base` is their protocol; `belief`, `goals` and `counts` its values; `masking` hides things."""
