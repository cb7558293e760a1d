"""The screen in a browser.

`server` decides who may come in, `window` joins one browser to one process, and `web_driver` runs in that process.
"""
