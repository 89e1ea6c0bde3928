"""Retention policies of stored data: what may be deleted when, what is held, what was done and by whom.

Read `policies` (what a policy says) and `rules` (what it says of a resource) first; both are pure. `domains` are what policies rule over.
`controller` is the entry for all callers, over a `workspace`: the lock and files of `data_folder`, the `log`, the policies in force
(`policy_file`, changed by `revisions`, where agents' requests wait, too). Each operation is an entry of the log before it is done, and
done again if a process was killed in between: `collection`, `archives` with `manifests` and `restores`, `logged_holds`. `answers`
makes JSON of what they return.
"""
