package goldentest

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// CompareFile fails the test if the file at path does not contain want, the generated text. With -update it writes want to
// path.
func CompareFile(t *testing.T, path, want string) {
	t.Helper()
	compareFile(t, os.ReadFile, path, want)
}

// CompareEmbeddedFile fails the test if embedded, the content of a file that the package of the test embeds (see Run), is not
// want, the generated text. With -update it writes want to path.
func CompareEmbeddedFile(t *testing.T, embedded, path, want string) {
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
		t.Errorf("%s is out of date; run make generate, or this test with -update (-file +generated):\n%s", path, d)
	}
}
