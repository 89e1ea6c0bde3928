"""The texts of governance. Plain values in, lines out; pure.

Ids, labels, notes and names are hostile text: each goes through `text.clean`, which `text.wrap` and `pair` call, before it is shown.
`command` is how the reader calls us.
"""
