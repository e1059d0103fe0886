"""Figures. Modules here draw what they are given; they compute nothing."""
