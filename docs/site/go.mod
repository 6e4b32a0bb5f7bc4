// The generator of the documentation's site. It is a module of its own, so that users of the
// library do not get its dependencies.
module github.com/nextbatch/nextbatch/docs/site

go 1.26.0

require (
	github.com/alecthomas/chroma/v2 v2.27.0
	github.com/yuin/goldmark v1.8.7
)

require github.com/dlclark/regexp2/v2 v2.2.1 // indirect
