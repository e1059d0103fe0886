"""Public names, loaded when they are first used."""

from dendrocap.classifier.classifier import DendriticClassifier as DendriticClassifier
