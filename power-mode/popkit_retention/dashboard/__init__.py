"""The status API and the page over everything that PopKit knows.

`server` starts a process, `app` makes its application: `security` lets a request through or refuses it, a route takes it to a function,
which uses the `app_state` that all requests share and answers in a shape (`shapes`, `stored_shapes`). For sessions, `catalog` lists them,
`contexts` reads their contexts as the panel does and runs the operations on them, `sessions` answers; `memories`, `stored_data`, `spending`
and `cost_reports` answer the rest. `app_state` also says what a page has to request again; `page/` is the page."""
