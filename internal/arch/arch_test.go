package arch_test

import (
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module     = "github.com/tenantgate/tenantgate"
	jwt        = "github.com/golang-jwt/jwt/v5"
	chi        = "github.com/go-chi/chi/v5"
	prometheus = "github.com/prometheus/client_golang/prometheus"
	redis      = "github.com/redis/go-redis/v9"
)

// rule says what a package may import.
type rule struct {
	// imports are the packages that are allowed beside the standard library: those of the module by their folders,
	// others by their paths, "..." at the end for all below.
	imports []string
	// noHTTP forbids net/http too.
	noHTTP bool
}

// rules by folder. A new package needs one; "..." at the end is for all folders below that have none of their own.
var rules = map[string]rule{
	"tenant":                    {},
	"tenant/jwttenant":          {imports: []string{"tenant", jwt}},
	"tenant/jwttenant/jwttest":  {imports: []string{"tenant", "tenant/jwttenant", jwt}},
	"tenant/jwttenant/provider": {imports: []string{"tenant/jwttenant"}},
	"quota":                     {imports: []string{"tenant", "internal/bucket"}, noHTTP: true},
	"quota/quotatest":           {imports: []string{"quota", "tenant"}, noHTTP: true},
	"quota/redisquota":          {imports: []string{"quota", "tenant", "internal/bucket", redis}, noHTTP: true},
	"bulkhead":                  {imports: []string{"tenant", "internal/slots"}, noHTTP: true},
	"fairslots":                 {imports: []string{"tenant", "internal/slots"}, noHTTP: true},
	"internal/slots":            {imports: []string{"tenant"}, noHTTP: true},
	"internal/replay":           {imports: []string{"tenant", "quota", "internal/slots"}, noHTTP: true},
	"internal/flood":            {imports: []string{"tenant", "bulkhead", "fairslots"}, noHTTP: true},
	"internal/arch":             {},
	"internal/bucket":           {noHTTP: true},
	"internal/redistest":        {noHTTP: true},
	"internal/sentinel":         {noHTTP: true},
	"internal/sidebyside":       {noHTTP: true},
	"internal/fleet": {imports: []string{
		"middleware", "tenant", "tenant/jwttenant", "quota", "quota/redisquota", "fairslots", "internal/redistest", jwt, redis + "/...",
	}},
	"middleware": {imports: []string{"tenant", "quota", "bulkhead", "fairslots", chi, prometheus}},
	"example/...": {imports: []string{
		"middleware", "tenant/...", "quota", "quota/redisquota", redis, "bulkhead", "fairslots", "internal/flood", "internal/replay", chi, prometheus + "/...",
	}},
}

func TestPackages_ImportOnlyWhatTheyMay(t *testing.T) {
	packages := modulePackages(t, "../..")
	if _, ok := packages["tenant"]; !ok {
		t.Fatalf("package tenant is not among those found: %v", packages)
	}
	for folder, imports := range packages {
		for _, fault := range faults(folder, imports) {
			t.Error(fault)
		}
	}
}

func TestFaults_AreFound(t *testing.T) {
	for _, tt := range []struct {
		folder, imported string
		allowed          bool
	}{
		{"tenant", "net/http", true},
		{"tenant", jwt, false},
		{"tenant", module + "/quota", false},
		{"quota", module + "/tenant", true},
		{"quota", module + "/tenant/jwttenant", false},
		{"quota", module + "/fairslots", false},
		{"quota", "net/http", false},
		{"quota", "net/http/httptest", false},
		{"quota", redis, false},
		{"quota/redisquota", redis, true},
		{"quota/redisquota", module + "/quota", true},
		{"middleware", module + "/quota/redisquota", false},
		{"fairslots", module + "/bulkhead", false},
		{"middleware", prometheus, true},
		{"middleware", module + "/tenant/jwttenant", false},
		{"example/anything", module + "/tenant/jwttenant/jwttest", true},
		{"example/anything", "pgregory.net/rapid", false},
		{"another", "fmt", false},
	} {
		if got := faults(tt.folder, []string{tt.imported}); (len(got) == 0) != tt.allowed {
			t.Errorf("%s imports %s: got faults %q, want it allowed: %v", tt.folder, tt.imported, got, tt.allowed)
		}
	}
}

// modulePackages returns the imports of each package of the module at root, those of its tests left out, by folder.
func modulePackages(t *testing.T, root string) map[string][]string {
	t.Helper()
	packages := map[string][]string{}
	err := filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); name == "testdata" || name != ".." && strings.HasPrefix(name, ".") {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && dir != root {
			return fs.SkipDir // a module of its own
		}
		p, err := build.ImportDir(dir, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, dir)
		packages[filepath.ToSlash(folder)] = p.Imports
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// faults says what is wrong with the imports of the package in folder.
func faults(folder string, imports []string) (all []string) {
	r, ok := ruleFor(folder)
	if !ok {
		return []string{fmt.Sprintf("%s: no rule says what it may import: add one", folder)}
	}
	for _, imported := range imports {
		allowed := slices.ContainsFunc(r.imports, func(pattern string) bool { return matches(pattern, imported) })
		if isStandard(imported) {
			allowed = !r.noHTTP || !matches("net/http/...", imported)
		}
		if !allowed {
			all = append(all, fmt.Sprintf("%s must not import %s", folder, imported))
		}
	}
	return all
}

func ruleFor(folder string) (rule, bool) {
	if r, ok := rules[folder]; ok {
		return r, true
	}
	for dir := path.Dir(folder); dir != "."; dir = path.Dir(dir) {
		if r, ok := rules[dir+"/..."]; ok {
			return r, true
		}
	}
	return rule{}, false
}

// matches reports whether pattern, which names folders of this module without the module's path, is or covers imported.
func matches(pattern, imported string) bool {
	imported = strings.TrimPrefix(imported, module+"/")
	if above, ok := strings.CutSuffix(pattern, "/..."); ok {
		return imported == above || strings.HasPrefix(imported, above+"/")
	}
	return imported == pattern
}

// isStandard reports whether the path is one of the standard library: the first element of all others has a dot.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}
