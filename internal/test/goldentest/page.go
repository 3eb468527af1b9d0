package goldentest

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Page compares a generated file with its expected content, and writes it with -update.
func Page(t *testing.T, path, want string) {
	t.Helper()
	compareFile(t, os.ReadFile, path, want)
}

// EmbeddedPage compares a generated file that a package embeds (see Run). embedded is its content. -update writes it
// to path.
func EmbeddedPage(t *testing.T, embedded, path, want string) {
	t.Helper()
	compareFile(t, func(string) ([]byte, error) { return []byte(embedded), nil }, path, want)
}

func compareFile(t *testing.T, read func(string) ([]byte, error), path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(have), want); d != "" {
		t.Errorf("%s is out of date; run make generate, or this test with -update (-file +program):\n%s", path, d)
	}
}
