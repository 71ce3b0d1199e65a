"""Experiments that the documentation quotes, as functions; the command line runs them."""
