"""Weights that saturate: what a largest weight w_max does to one weight, at capacity and below."""
