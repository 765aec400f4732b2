package jwttenant_test

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestRequirements_EachNamesATestThatExists holds docs/tokens.md to what it says: each rule has a test, or somebody else
// whose it is, and each test is there, with a row of that name.
func TestRequirements_EachNamesATestThatExists(t *testing.T) {
	tests := testsOf(t, "..", ".", "provider", "../../middleware")
	document := string(must(os.ReadFile("../../docs/tokens.md")))
	named := regexp.MustCompile("`(Test[^`]+)`")
	for _, match := range named.FindAllStringSubmatch(document, -1) {
		name, row, _ := strings.Cut(match[1], "/")
		switch found := tests[name]; {
		case len(found) != 1:
			t.Errorf("%s: there are %d tests called %s, want 1", match[1], len(found), name)
		case row != "" && !found[0].hasRow(row):
			t.Errorf("%s: no row of the test begins with %q", match[1], row)
		}
	}

	others := regexp.MustCompile(`^the (client|issuer|operator|service)'s( and the (client|issuer)'s)?$`)
	rules := 0
	for n, line := range strings.Split(document, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| section") || strings.HasPrefix(line, "| ---") {
			continue
		}
		rules++
		last := strings.TrimSpace(cells[len(cells)-1])
		if len(cells) != 4 || !named.MatchString(last) && !others.MatchString(last) {
			t.Errorf("line %d: %q names neither a test nor whose the rule is", n+1, line)
		}
	}
	if rules < 90 {
		t.Errorf("%d rules were read, there should be about a hundred", rules)
	}
}

// testSource is the body of a test.
type testSource struct{ *ast.FuncDecl }

// testsOf returns the tests in dirs by their names.
func testsOf(t *testing.T, dirs ...string) map[string][]testSource {
	t.Helper()
	tests := map[string][]testSource{}
	for _, dir := range dirs {
		files := must(filepath.Glob(filepath.Join(dir, "*_test.go")))
		if len(files) == 0 {
			t.Fatalf("there are no tests in %s", dir)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
					tests[f.Name.Name] = append(tests[f.Name.Name], testSource{f})
				}
			}
		}
	}
	return tests
}

// hasRow reports whether a text in the test begins with the words of prefix.
func (s testSource) hasRow(prefix string) bool {
	found := false
	ast.Inspect(s.FuncDecl, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == gotoken.STRING {
			text, _ := strconv.Unquote(literal.Value)
			rest, ok := strings.CutPrefix(text, prefix)
			found = found || ok && (rest == "" || strings.IndexByte(" ,", rest[0]) >= 0)
		}
		return !found
	})
	return found
}
