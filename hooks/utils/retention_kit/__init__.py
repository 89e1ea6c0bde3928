"""Decide which stored data may be deleted. Pure.

A *hold* keeps an item whatever else asks for its deletion. A *mark* deletes nothing by itself: it says who wants an item deleted, and since
when. A *sweep* decides the next step for each item. The archive, memory and governance keep holds and marks beside their own data, so that
both change in one transaction with it, and pass to the kit what they have read.
"""
