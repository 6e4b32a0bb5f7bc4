# Everyday commands; `make help` lists them. .ci/run uses the same ones.

.DEFAULT_GOAL := help

GOFMT := $(shell go env GOROOT)/bin/gofmt
SPEED  = go run ./cmd/speed $(if $(SECTION),-section $(SECTION))

# The generator of the assembly is a module of its own, which ./... leaves out.
GENERATOR := internal/simd/gen

PLATFORMS := linux/arm64 darwin/arm64 windows/amd64

# What make dist builds, and where it puts it.
RELEASES ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
DIST     ?= dist

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Compile everything, without cgo.
	CGO_ENABLED=0 go build ./...

.PHONY: test
test: ## Run all tests.
	go test ./...

.PHONY: bench
bench: ## Measure this machine's ceilings and every operation against them; SECTION=linalg runs one section.
	$(SPEED)

.PHONY: bench-json
bench-json: ## The same as JSON lines; call it with make -s so that nothing else is printed.
	@$(SPEED) -json

.PHONY: lint
lint: ## gofmt, go vet and staticcheck.
	@unformatted=$$(git ls-files -z '*.go' | xargs -0 $(GOFMT) -l); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go vet -tags noasm ./...
	go tool staticcheck ./...
	cd $(GENERATOR) && go vet ./... && "$$(go -C '$(CURDIR)' tool -n staticcheck)" ./...

FUZZTIME ?= 1m

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME each (one minute by default).
	.ci/fuzz $(FUZZTIME)

.PHONY: soak
soak: ## Run the tests that take many minutes.
	NEXTBATCH_SOAK=1 go test -count=1 -timeout 4h -v -run '^TestSoak|^TestKilledRun' ./benchmark ./campaign ./cmd/nextbatch
	go test ./network -count=1 -run IntervalsOnRealData -v -timeout 4h -intervals-labels 128,512,2048 -intervals-splits 3 -intervals-epochs 256

.PHONY: generate
generate: ## Regenerate the assembly of internal/simd.
	go generate ./...

.PHONY: cross
cross: $(PLATFORMS) ## Compile code and tests for the other platforms.

.PHONY: $(PLATFORMS)
$(PLATFORMS):
	CGO_ENABLED=0 GOOS=$(@D) GOARCH=$(@F) go build ./...
	CGO_ENABLED=0 GOOS=$(@D) GOARCH=$(@F) go vet ./...

.PHONY: picture
picture: ## Draw docs/demo.png, the picture in the README, again.
	mkdir -p $(DIST)/demo
	go run ./cmd/nextbatch demo --out $(DIST)/demo
	cp $(DIST)/demo/nextbatch-demo.png docs/demo.png

.PHONY: install
install: ## Install the static binary into Go's bin folder.
	CGO_ENABLED=0 go install -trimpath ./cmd/nextbatch

.PHONY: dist
dist: $(RELEASES:%=dist/%) ## Build a static binary for each platform of a release, with checksums.
	cd $(DIST) && sha256sum nextbatch-* >SHA256SUMS

# Without cgo, Go resolves names and users itself, so the binary needs no C library.
.PHONY: $(RELEASES:%=dist/%)
$(RELEASES:%=dist/%): dist/%:
	CGO_ENABLED=0 GOOS=$(*D) GOARCH=$(*F) go build -trimpath -ldflags='-s -w' \
		-o $(DIST)/nextbatch-$(*D)-$(*F)$(if $(filter windows,$(*D)),.exe) ./cmd/nextbatch

# A wheel carries the binary, so there is one for each platform.
WHEELS ?= linux/amd64 linux/arm64 darwin/arm64 windows/amd64

.PHONY: wheels
wheels: ## Build the Python package into python/dist: a wheel for each platform, and the source.
	python3 python/backend.py python/dist $(WHEELS)
