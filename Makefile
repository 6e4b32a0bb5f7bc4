# Everyday commands; `make help` lists them. .ci/run uses the same ones.

.DEFAULT_GOAL := help

GOFMT := $(shell go env GOROOT)/bin/gofmt
SPEED  = go run ./cmd/speed $(if $(SECTION),-section $(SECTION))

# The generator of the assembly is a module of its own, which ./... leaves out.
GENERATOR := internal/simd/gen

# So is the generator of the site.
SITE := docs/site

# The programs that check the project are a module of their own, too.
TOOL := go -C '$(CURDIR)/.ci/tools' tool -n

PLATFORMS := darwin/arm64 windows/amd64

# What make dist builds, and where it puts it.
RELEASES ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
DIST     ?= dist

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Compile everything, without cgo.
	CGO_ENABLED=0 go build ./...

.PHONY: check
check: export CGO_ENABLED = 0
check: format ## What to run before a commit, under three minutes on two cores: gofmt, go vet, and all tests but the slow ones (go test -short).
	go vet ./...
	go test -short -vet=off ./...

.PHONY: format
format: # What gofmt would change is an error.
	@unformatted=$$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 $(GOFMT) -l); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi

.PHONY: test
test: ## Run all tests.
	go test ./...

.PHONY: bench
bench: ## Measure this machine's ceilings and every operation against them; SECTION=linalg runs one section.
	$(SPEED)

.PHONY: bench-json
bench-json: ## The same as JSON lines; call it with make -s so that nothing else is printed.
	@$(SPEED) -json

.PHONY: bench-answers
bench-answers: ## Measure how long people wait: for help, a plan, the status of a campaign, the page of a service with a million rows.
	CGO_ENABLED=0 go build -o bin/nextbatch ./cmd/nextbatch
	go run ./cmd/speed -answers bin/nextbatch

.PHONY: lint
lint: format workflows ## gofmt, go vet, staticcheck, functions that nothing reaches, how many are compiled again and again, and the workflows of GitHub.
	go vet ./...
	go vet -tags noasm ./internal/...
	go vet -tags network64 ./network
	staticcheck=$$($(TOOL) staticcheck) && $$staticcheck ./... && \
	for module in $(GENERATOR) $(SITE); do (cd $$module && go vet ./... && $$staticcheck ./...) || exit; done
	.ci/deadcode
	.ci/instances

# Without shellcheck and pyflakes, which not every machine has: steps call make and little else.
.PHONY: workflows
workflows:
	actionlint=$$($(TOOL) actionlint) && $$actionlint -shellcheck= -pyflakes= .github/workflows/*.yml

FUZZTIME ?= 1m

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME each (one minute by default).
	.ci/fuzz $(FUZZTIME)

.PHONY: soak
soak: ## Run the tests that take many minutes.
	NEXTBATCH_SOAK=1 go test -count=1 -timeout 4h -v -run '^TestSoak|^TestKilledRun' ./internal/benchmark ./campaign ./internal/estimate ./cmd/nextbatch ./cmd/nextbatch/cli
	NEXTBATCH_SOAK=1 go test . -count=1 -timeout 4h -v -run '^TestSoakLargePool$$'
	CGO_ENABLED=1 go test ./selection -count=1 -race -run '^TestRanksSelectTheSame$$' -timeout 4h
	go test ./network -count=1 -run IntervalsOnRealData -v -timeout 4h -intervals-labels 128,512,2048 -intervals-splits 3 -intervals-epochs 256
	NEXTBATCH_SOAK=1 $(MAKE) web-test

.PHONY: load
load: ## Put the service under load for minutes, with and without a greedy client, then kill it 100 times; LOAD='-lasts 10s -kill 5' does less.
	go run ./cmd/load $(LOAD)
	$(if $(LOAD),,go run ./cmd/load -rows 10000 -rate 100 -lasts 2m -kill 100)

.PHONY: generate
generate: ## Regenerate the assembly of internal/simd, and the warnings of docs/messages.md.
	go generate ./...
	go test -count=1 ./cmd/nextbatch -run TestDocsWarnings -write-messages

.PHONY: cross
cross: $(PLATFORMS) ## Compile the code for macOS and Windows, and the tests for Windows, which differs most.
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go vet ./...

.PHONY: $(PLATFORMS)
$(PLATFORMS):
	CGO_ENABLED=0 GOOS=$(@D) GOARCH=$(@F) go build ./...

.PHONY: picture
picture: ## Draw docs/demo.png, the picture in the README, again.
	mkdir -p $(DIST)/demo
	go run ./cmd/nextbatch demo --out $(DIST)/demo
	cp $(DIST)/demo/nextbatch-demo.png docs/demo.png

.PHONY: page-pictures
page-pictures: ## Draw docs/page-*.png, the pages that commands write, from real data; needs chromium and ../shared.
	NEXTBATCH_REQUIRE_CHROMIUM=1 NEXTBATCH_REQUIRE_SHARED=1 go test ./cmd/nextbatch/cli -count=1 -run '^TestPictures$$' -timeout 30m -pictures '$(CURDIR)/docs'

.PHONY: site
site: ## Build the documentation as a site into dist/site, and check its links; needs Python. Open dist/site/index.html to see it.
	programs=$$(mktemp -d) && trap 'rm -rf "$$programs"' EXIT && \
	CGO_ENABLED=0 go build -o "$$programs/nextbatch" ./cmd/nextbatch && go -C $(SITE) build -o "$$programs/site" . && \
	"$$programs/site" -root . -program "$$programs/nextbatch" -out '$(DIST)/site'

.PHONY: site-test
site-test: site ## Build the site, twice with the same bytes, and test its generator and, where there is chromium, its pages.
	go -C $(SITE) test ./...
	$(MAKE) site DIST=$(DIST)/again
	diff -r $(DIST)/site $(DIST)/again/site
	rm -r $(DIST)/again
	go test ./cmd/nextbatch/cli -count=1 -run '^TestSite' -timeout 30m -site '$(abspath $(DIST))/site'

.PHONY: site-pictures
site-pictures: site ## Draw pages of the site into dist/site-pictures, in light, dark and 390 px, to look at; needs chromium.
	mkdir -p $(DIST)/site-pictures
	NEXTBATCH_REQUIRE_CHROMIUM=1 go test ./cmd/nextbatch/cli -count=1 -run '^TestSitePictures$$' -site '$(abspath $(DIST))/site' -pictures '$(abspath $(DIST))/site-pictures'

.PHONY: install
install: ## Install the static binary into Go's bin folder and, on Linux, nextbatch-hpc, which uses GPUs and MPI.
	CGO_ENABLED=0 go install -trimpath -ldflags='-s -w' ./cmd/nextbatch $(if $(filter linux,$(shell go env GOOS)),./cmd/nextbatch-hpc)

.PHONY: dist
dist: $(RELEASES:%=dist/%) ## Build a static binary for each platform of a release and, for Linux, nextbatch-hpc, with checksums.
	cd $(DIST) && sha256sum nextbatch-* >SHA256SUMS

# Without cgo, Go resolves names and users itself, so nextbatch needs no C library;
# nextbatch-hpc needs its loader.
.PHONY: $(RELEASES:%=dist/%)
$(RELEASES:%=dist/%): RELEASE = CGO_ENABLED=0 GOOS=$(*D) GOARCH=$(*F) go build -trimpath -ldflags='-s -w'
$(RELEASES:%=dist/%): dist/%:
	$(RELEASE) -o $(DIST)/nextbatch-$(*D)-$(*F)$(if $(filter windows,$(*D)),.exe) ./cmd/nextbatch
	$(if $(filter linux,$(*D)),$(RELEASE) -o $(DIST)/nextbatch-hpc-$(*D)-$(*F) ./cmd/nextbatch-hpc)

VERSION = $(shell sed -n 's/^const Version = "\(.*\)"/\1/p' version.go)

.PHONY: tagged
tagged: ## Fail unless this is a clean checkout of the tag of the version in version.go, which a release is made from.
	@test -z "$$(git status --porcelain)" || { echo "there are uncommitted files" >&2; exit 1; }
	@git tag --points-at HEAD | grep -qxF 'v$(VERSION)' || { echo "this commit does not have the tag v$(VERSION)" >&2; exit 1; }

# A folder of this version, so that nothing else in dist becomes part of the release.
FILES = $(DIST)/nextbatch-$(VERSION)

.PHONY: release
release: tagged release-dry ## Make a release from a clean checkout of its tag, in dist/nextbatch-VERSION; needs python3 and buildah.

.PHONY: release-dry
release-dry: ## The same without a tag; RELEASES=linux/amd64 is enough to try it.
	rm -rf '$(FILES)' && mkdir -p '$(DIST)'
	CGO_ENABLED=0 go run ./.ci/release '$(FILES)' $(RELEASES)

.PHONY: release-twice
release-twice: ## Make a release of the last commit twice, in two clones, and compare all bytes; compiles everything twice.
	FRESH=1 .ci/release-twice $(RELEASES)

.PHONY: push
push: ## Copy the image of a release to a registry, such as REGISTRY=docker://ghcr.io/nextbatch/nextbatch, and print its digest; needs skopeo.
	@skopeo copy --quiet --all --digestfile '$(FILES).digest' 'oci-archive:$(FILES)/nextbatch-$(VERSION)-image.tar:$(VERSION)' '$(REGISTRY):$(VERSION)'
	@echo "digest=$$(cat '$(FILES).digest')"

.PHONY: released
released: ## Write the files of this version to testdata/released, which every later version must read, and compare all that states the version.
	CGO_ENABLED=0 go test ./cmd/nextbatch/cli -count=1 -run '^TestReleasedFiles$$|Version' -write-released

.PHONY: notes
notes: ## Print the notes of the newest version, from CHANGELOG.md; call it with make -s.
	@awk '/^## / && ++versions > 1 { exit } versions' CHANGELOG.md

# A wheel carries the binary, so there is one for each platform.
WHEELS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64

.PHONY: wheel
wheel: ## Build the Python package for this machine into python/dist.
	python3 python/backend.py python/dist

.PHONY: wheels
wheels: ## Build the Python package into python/dist: a wheel for each platform, and the source.
	python3 python/backend.py python/dist $(WHEELS)

WEB := internal/server/web

# npm ci runs again only after the lock file has changed.
$(WEB)/node_modules/.package-lock.json: $(WEB)/package-lock.json
	cd $(WEB) && npm ci --ignore-scripts
	touch $@

.PHONY: web
web: $(WEB)/node_modules/.package-lock.json ## Build the dashboard into internal/server/web/dist, which is committed.
	cd $(WEB) && npm run --silent build

.PHONY: web-types
web-types: ## Write the types of the dashboard from the description of the service; a test says when they are stale.
	@go test ./internal/server -count=1 -run '^TestTypesOfTheDashboard$$' -write-types

.PHONY: web-check
web-check: $(WEB)/node_modules/.package-lock.json ## Types, lint and unit tests of the dashboard, and whether internal/server/web/dist is up to date.
	cd $(WEB) && npm run --silent types && npm run --silent lint && npm run --silent unit
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && (cd $(WEB) && npm run --silent build -- --outDir "$$fresh" --emptyOutDir --logLevel warn) && \
	diff -r "$$fresh" $(WEB)/dist || { echo "internal/server/web/dist is stale: run make web" >&2; exit 1; }

.PHONY: screenshots
screenshots: $(WEB)/node_modules/.package-lock.json ## Make the pictures of docs/dashboard.md again, with a campaign on real data; needs chromium and ../shared.
	cd $(WEB) && npm run --silent screenshots

.PHONY: web-test
web-test: web-check ## web-check, and the tests that drive the real program in a browser (chromium).
	cd $(WEB) && npm run --silent browser
