"""Real data: image sets as binary patterns, synaptic strengths, files with columns. Only `fetch` downloads."""

from dendrocap.loading import load_on_use

load_on_use(__name__)
