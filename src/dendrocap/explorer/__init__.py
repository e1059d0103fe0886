"""The explorer: an interactive local page that shows how a neuron's capacity depends on its dendrites.

`parameters`, `views`, `files`, `trainer` and `background` do not depend on the browser; `plots` draws with Bokeh,
`session` handles the messages of one browser tab, `server` serves the page.
"""
