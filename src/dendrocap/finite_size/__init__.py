"""Real sizes: a soma with finitely many branches, and branches with finitely many synapses."""

from dendrocap.loading import load_on_use

load_on_use(__name__)
