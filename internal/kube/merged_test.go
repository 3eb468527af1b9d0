package kube

import (
	"encoding/json"
	"slices"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// TestMergedEqualsAMergePatch compares with what a merge patch makes of the document.
func TestMergedEqualsAMergePatch(t *testing.T) {
	docs := []string{
		`{}`, `{"a":1}`, `{"a":1,"b":[]}`, `{"a":{}}`, `{"a":{"b":"x"}}`, `{"a":{"b":"x","c":2}}`, `{"b":[]}`,
		`{"a":[{"b":"x"}]}`, `{"a":[{"b":"x"},{"b":"y"}]}`, `{"a":{"b":{"c":{"d":true}}}}`,
	}
	for _, have := range docs {
		for _, patch := range slices.Concat(docs, []string{`{"a":null}`, `{"b":null}`, `{"a":{"b":null}}`, `{"a":{"b":{"c":{"d":null}}}}`}) {
			after, err := jsonpatch.MergePatch([]byte(have), []byte(patch))
			if err != nil {
				t.Fatalf("%s on %s: %v", patch, have, err)
			}
			want := jsonpatch.Equal([]byte(have), after)
			var of, fields any
			if err := json.Unmarshal([]byte(have), &of); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(patch), &fields); err != nil {
				t.Fatal(err)
			}
			if got := merged(of, fields); got != want {
				t.Errorf("%s on %s: want %t, got %t", patch, have, want, got)
			}
		}
	}
}
