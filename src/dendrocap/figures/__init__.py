"""Plots and what they share. Modules here draw what they are given; they compute nothing."""
