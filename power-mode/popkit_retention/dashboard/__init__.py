"""The status API and the page over everything that PopKit knows.

`server` starts a process, `app` makes its application: `security` lets a request through or refuses it, a route takes it to a function,
which uses the `app_state` that all requests share and answers in a shape (`shapes`, `session_shapes`). For sessions, `catalog` lists them,
`contexts` reads their contexts as the panel does; `session_list`, `session_details` and `session_operations` answer. The rest comes from
tiles of features (`tile`). `changes` says what a page has to request again; `page/` is the page."""
