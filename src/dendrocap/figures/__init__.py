"""Plots and their shared helpers. Modules here only draw their arguments; they compute nothing."""
