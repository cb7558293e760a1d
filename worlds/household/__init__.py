"""What household worlds share, independent of their texts: `base` has the protocol that each implements."""
