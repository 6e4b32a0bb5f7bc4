// Package server serves the campaigns of a store over HTTP: the verbs of package
// campaign under /v1, described by OpenAPI 3.1 at /openapi.json. It has no logic of its
// own about what to pick.
//
// Every route except /health needs a token (see Tokens). Training and selecting are
// jobs: the request returns at once with the job's id, by which clients can watch the
// job, cancel it and get its result.
package server
