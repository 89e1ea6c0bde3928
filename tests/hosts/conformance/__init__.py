"""The laws that hold in every host, played in the real ones.

    python -m tests.hosts.conformance

prints how often each was checked in each host.
"""
