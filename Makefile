# Every command of this repository. `make` alone lists them.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# How many random steps prove the slots with each rule, how long each fuzz target runs, how often each benchmark does,
# and which ones.
STEPS    ?= 1000000
FUZZTIME ?= 30s
COUNT    ?= 6
BENCH    ?= .

# This module, and those under internal/ whose dependencies users of this one should not have.
MODULES := . $(patsubst %/go.mod,%,$(wildcard internal/*/go.mod))

# The folders whose tests start Redis servers, as a regular expression.
WITH_REDIS := internal/redistest|internal/fleet|quota/redisquota

# $(call each,COMMAND) runs a command in the folder of every module.
each = for module in $(MODULES); do (cd $$module && $(1)); done

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: go ## the flood, over HTTP, through four ways to hand out slots
	@CGO_ENABLED=0 go run ./example/flood

.PHONY: serve
serve: go ## the demo's API on a port of this machine, with tokens and curl lines to try it with
	@CGO_ENABLED=0 go run ./example/flood -serve

.PHONY: plan
plan: go ## a real trace of requests through four ways to hand out slots, from idle to overload: a report, and plan.html
	@CGO_ENABLED=0 go run ./example/plan -load 0.3,0.6,0.8,0.95,1.2 -html plan.html \
		-durations page=80ms,asset=5ms,feed=40ms,file=200ms example/plan/testdata/web-trace.csv

.PHONY: test
test: go race redis ## all tests with the race detector; installs what they need
	@$(call each,CGO_ENABLED=1 go test -race ./...)

.PHONY: test-short
test-short: go ## this module's tests but those that need a Redis, without the race detector: pure Go, nothing to install
	@packages=$$(go list ./... | grep -Ev '/($(WITH_REDIS))(/|$$)'); CGO_ENABLED=0 go test $$packages

.PHONY: check
check: go ## gofmt, go vet, staticcheck, go mod tidy, and which package imports which
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not as gofmt has it:"; echo "$$unformatted"; exit 1; }
	@$(call each,go vet ./...)
	@$(call each,go run $(STATICCHECK) ./...)
	@$(call each,go mod tidy -diff)
	@go test ./internal/arch

.PHONY: fuzz
fuzz: go ## STEPS (1,000,000) random steps of the slots with each rule, and every fuzz target, for FUZZTIME (30s) each
	@go test ./internal/slots -count 1 -v -run '^TestCore_(KeepsTheProperties|DecidesAsTheModel)$$' -steps $(STEPS) | \
		awk '/random steps|[Ff]ailed|FAIL|property [0-9]/'
	@$(call each,go test -list '^Fuzz' ./... | \
		awk '/^Fuzz/ { name[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2 " " name[i]; n = 0 }' | \
		while read -r package target; do \
			echo "$$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$package" </dev/null; \
		done)

.PHONY: bench
bench: go redis ## the benchmarks that match BENCH (all), COUNT (6) times each, for benchstat: also in bench.txt
	@$(call each,go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...) | tee bench.txt

.PHONY: rivals
rivals: go ## tokens beside golang-jwt, jwtauth and auth0; slots beside semaphores, failsafe-go and the API server's fair queue
	@cd internal/jwtrivals && go run . && echo
	@cd internal/rivals && go run . && echo && echo '### Fairness: three floods, in virtual time' && \
		go test -count 1 -v -run Fairness . | sed -n 's/^ *|/|/p; /FAIL\|want/p'

.PHONY: bench-redis
bench-redis: go redis ## the quotas shared through Redis beside rueidis, go-redis and redis_rate, on a server of their own
	@cd internal/redisrivals && go run .

.PHONY: fleet
fleet: go redis ## the proof: three processes behind one Redis, one of them and Redis killed; usage is what the access logs have
	@CGO_ENABLED=0 go run ./internal/fleet

.PHONY: cover
cover: go redis ## how much of each package the tests run; the lines are in cover.html
	@CGO_ENABLED=0 go test -coverprofile cover.out ./...
	@go tool cover -html cover.out -o cover.html
	@go tool cover -func cover.out | tail -n 1

.PHONY: go race redis
go race redis:
	@.ci/need $@
