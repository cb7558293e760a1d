"""The benchmarks of `make bench`: each module measures one thing and returns lines to print. There are no tests here."""
