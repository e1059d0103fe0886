"""Experiments: theory, learning and data put together."""
