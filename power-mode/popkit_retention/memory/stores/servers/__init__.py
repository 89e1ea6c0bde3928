"""Stores on servers, a module for each kind: its SERVES has the schemes of its URLs and what opens a store there (url, environ)."""
