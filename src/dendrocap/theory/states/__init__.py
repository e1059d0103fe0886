"""States of a neuron: how noise disturbs them, which ones learning reaches, and what they make of unseen patterns."""
