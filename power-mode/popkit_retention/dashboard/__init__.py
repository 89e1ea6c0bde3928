"""The status API and the page over everything that PopKit knows."""
