"""An environment for TRL's trainers."""
