"""States of a neuron: their robustness to noise, the states that learning reaches, and their generalisation."""
