package console

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
)

// TestPageInsertsTextWithoutMarkup checks that all files of the page are served. None of them inserts text as HTML, runs
// text as code, or names another host. No other files are served.
func TestPageInsertsTextWithoutMarkup(t *testing.T) {
	entries, err := fs.ReadDir(pageFiles, "page")
	if err != nil {
		t.Fatal(err)
	}
	dangerous := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function|setTimeout\(["'\x60]|javascript:|<script>|<style|\bstyle=|\bon[a-z]+="|importScripts|DOMParser|createContextualFragment`)
	elsewhere := regexp.MustCompile(`https?://[^\s"'<)]+`)
	for _, e := range entries {
		served := httptest.NewRecorder()
		PageHandler().ServeHTTP(served, httptest.NewRequest("GET", "/"+strings.TrimPrefix(e.Name(), startFile), nil))
		if served.Code != http.StatusOK || served.Header().Get("Content-Type") == "" {
			t.Errorf("%s is not served with a content type", e.Name())
		}
		data, err := fs.ReadFile(pageFiles, path.Join("page", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if found := dangerous.Find(data); found != nil {
			t.Errorf("%s has %q", e.Name(), found)
		}
		for _, url := range elsewhere.FindAllString(string(data), -1) {
			if url != "http://www.w3.org/2000/svg" && !strings.Contains(url, ".example.com") {
				t.Errorf("%s names %s", e.Name(), url)
			}
		}
	}
	for _, other := range []string{"/" + startFile, "/other.js", "/../server.go", "/page"} {
		served := httptest.NewRecorder()
		PageHandler().ServeHTTP(served, &http.Request{Method: "GET", URL: &url.URL{Path: other}})
		if served.Code != http.StatusNotFound {
			t.Errorf("%s is served with status %d", other, served.Code)
		}
	}
}

// sampleArguments returns values for a flag that differ from its default, or nil if the type of the flag is unknown.
func sampleArguments(f *pflag.Flag) []string {
	switch f.Value.Type() {
	case "bool":
		if f.DefValue == "true" {
			return []string{"false"}
		}
		return []string{"true"}
	case "int", "int32", "int64", "uint":
		return []string{"7"}
	case "float32", "float64":
		return []string{"0.5"}
	case "duration":
		return []string{"7m0s"}
	case "stringSlice", "stringArray":
		return []string{"one", "two"}
	case "stringToString":
		return []string{"one=1,two=2"}
	case "string":
		return []string{"some, text='x'"}
	}
	return nil
}

// TestPageCommandsGetConsoleFlags checks that a command of the page gets each flag of the console with the same value,
// except consoleFlags.
func TestPageCommandsGetConsoleFlags(t *testing.T) {
	command := func() *cobra.Command {
		return New(output.Environment{Getenv: func(string) string { return "" }}, nil)
	}
	special := map[string][]string{
		"feature-gates": {"ListenerRulesTagging=false,WeightedTargetGroups=true"}, "aws-api-endpoints": {"EC2=http://127.0.0.1:1,STS=http://127.0.0.1:2"},
		"context": {"[prod]"},
	}
	tried := 0
	command().Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(consoleFlags, f.Name) {
			return
		}
		from := command()
		values := special[f.Name]
		if values == nil {
			values = sampleArguments(f)
		}
		given := 0
		for _, v := range values {
			if err := from.Flags().Set(f.Name, v); err == nil {
				given++
			}
		}
		if given == 0 {
			t.Errorf("no value of --%s is known, of type %s", f.Name, f.Value.Type())
			return
		}
		c := newCommandRunner(from, output.Environment{}, nil, nil)
		to := &cobra.Command{Use: "tree"}
		tree.NewView(to, output.Environment{Getenv: func(string) string { return "" }})
		if err := to.ParseFlags(append(slices.Clone(c.flags), c.scopeFlags...)); err != nil {
			t.Errorf("--%s: %v", f.Name, err)
			return
		}
		if was, is := from.Flags().Lookup(f.Name).Value.String(), to.Flags().Lookup(f.Name).Value.String(); was != is || !to.Flags().Changed(f.Name) {
			t.Errorf("--%s is %q, and %q for the commands: %q", f.Name, was, is, c.flags)
		}
		tried++
	})
	if tried < 50 {
		t.Errorf("only %d flags were tried", tried)
	}
}
