"""The explorer: a local page on which a neuron's capacity moves as its dendrites are bent.

`parameters`, `links`, `presets`, `uploads`, `views`, `validity`, `scripts`, `exports` and `trainer` know nothing of the
browser; `plots` draws with Bokeh, `session` answers what one browser tab asks, `page` and `server` bring it there.
"""
