"""The screen in a browser.

`serve` is the command. `server` decides who may come in and joins each browser to a process; `web_driver` runs in that.
"""
