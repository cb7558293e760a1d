"""The figures of `make bench`: each module measures one thing and returns lines to print. Nothing here is a test."""
