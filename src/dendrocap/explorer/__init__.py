"""The explorer: an interactive local page that shows how a neuron's capacity depends on its dendrites.

`parameters`, `links`, `presets`, `uploads`, `views`, `words`, `exports` and `trainer` do not depend on the browser;
`plots` draws with Bokeh, `session` handles the messages of one browser tab, `page` and `server` serve it.
"""
