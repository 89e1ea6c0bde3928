"""The status API and the page over everything that PopKit knows.

`server` starts a process, `app` makes its application: `security` lets a request through or refuses it, a route takes it to a function,
which asks the `app_state` that all requests share and answers in a shape (`shapes`, `stored_shapes`). Of sessions, `catalog` lists them,
`contexts` reads their contexts as the panel does and does what is offered, `sessions` answers; `memories`, `stored_data`, `spending` and
`reports` answer for the rest. `app_state` says, too, what a page has to ask for again; `page/` is the page.
"""
