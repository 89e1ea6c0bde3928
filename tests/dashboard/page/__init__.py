"""Tests of the page in a real browser, which they share."""
