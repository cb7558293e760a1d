"""Runs as logs of inspect_ai, and a task of it that plays."""
