"""The contracts that `conformance` holds a store to."""
