"""The screen in a browser.

`server` decides who may come in and joins each browser to a process; `web_driver` runs in that.
"""
