"""Reproduction of the paper: one module per figure, with its data, compared with the claims of the paper."""

from dendrocap.loading import load_on_use

load_on_use(__name__)
