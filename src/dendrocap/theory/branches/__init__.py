"""Branches that differ from each other, and branches of finite length."""
