package manifest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
		fail bool
	}{
		"documents are split, empty ones skipped": {
			text: "---\n# only a comment\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n\n---\napiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: a}\n",
			want: []string{"Namespace a", "Service a/s"},
		},
		"lists are replaced by their items": {
			text: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}}\n- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n",
			want: []string{"Pod shop/p", "Namespace shop"},
		},
		"an empty stream has no objects": {text: ""},
		"no kind is an error":            {text: "metadata: {name: x}", fail: true},
		"broken YAML is an error":        {text: "a: [", fail: true},
		"JSON is YAML":                   {text: `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`, want: []string{"Node n"}},
		"a kind may end with List":       {text: "apiVersion: v1\nkind: WaitList\nmetadata: {name: w}", want: []string{"WaitList w"}},
		"an empty document is legal":     {text: "---\n---\n"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := Parse([]byte(c.text))
			if (err != nil) != c.fail {
				t.Fatalf("error is %v, want one: %v", err, c.fail)
			}
			var got []string
			for _, o := range objects {
				got = append(got, KindAndName(o))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLoadReadsDirectoriesInOrder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"20-b.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: b}",
		"10-a.yml":  "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}",
		"README.md": "not YAML: [",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 || objects[0].GetName() != "a" || objects[1].GetName() != "b" {
		t.Errorf("loaded %v", objects)
	}
	if _, err := Load(filepath.Join(dir, "missing.yaml")); err == nil {
		t.Error("Load returns no error for a missing file")
	}
}
