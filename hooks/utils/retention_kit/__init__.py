"""Decide what stored data may be deleted, for the archive, memory and governance alike. Pure.

A *hold* keeps a thing whatever else asks for its deletion. A *mark* deletes nothing by itself: it says since when a thing is to go, and by
whom. A *sweep* asks of each thing what its next step is. Each of the three keeps holds and marks beside its own data, so that they change
in one transaction with it, and gives the kit what it has read.
"""
