package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const gadgetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec: {group: example.com, names: {kind: Gadget, plural: gadgets}, versions: [{name: v1, served: true, storage: true}]}
`

func TestLoadChecked(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		names []string
		want  []string // texts that the error must contain
	}{
		"kinds of Kubernetes are accepted": {
			files: map[string]string{"a.yaml": "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}}\n---\n{apiVersion: v1, kind: List, items: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}]}"},
			names: []string{"a.yaml"},
		},
		"a CRD among the files defines a kind": {
			files: map[string]string{"a.yaml": "{apiVersion: example.com/v1, kind: Gadget, metadata: {name: g}}", "b.yaml": gadgetCRD},
			names: []string{"a.yaml", "b.yaml"},
		},
		"an installed CRD defines a kind": {
			files: map[string]string{"a.yaml": "{apiVersion: example.com/v2, kind: Widget, metadata: {name: w}}"},
			names: []string{"a.yaml"},
		},
		"all faults are reported": {
			files: map[string]string{
				"broken.yaml": "a: [",
				"kinds.yaml":  "{apiVersion: v1, kind: Ingress, metadata: {name: web}}\n---\n{apiVersion: v1, kind: Servce, metadata: {name: web}}\n---\n{apiVersion: v1, kind: Service}",
				"old.yaml":    "{apiVersion: extensions/v1beta1, kind: Ingress, metadata: {name: web}}",
				"empty.yaml":  "# nothing yet",
			},
			names: []string{"missing.yaml", "broken.yaml", "kinds.yaml", "old.yaml", "empty.yaml"},
			want: []string{
				"missing.yaml: no such file or directory",
				"broken.yaml: document 1: ",
				`kinds.yaml: there is no kind "Ingress" in "v1"; it is in networking.k8s.io/v1` + "\n",
				`kinds.yaml: there is no kind "Servce" in "v1"` + "\n",
				"kinds.yaml: a Service has no metadata.name",
				`old.yaml: there is no kind "Ingress" in "extensions/v1beta1"; it is in networking.k8s.io/v1`,
				"empty.yaml has no object",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var paths []string
			for _, n := range c.names {
				paths = append(paths, filepath.Join(dir, n))
			}
			installed, err := Parse([]byte(strings.NewReplacer("Gadget", "Widget", "gadget", "widget", "name: v1", "name: v2").Replace(gadgetCRD)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = LoadAndCheck(installed, paths...)
			if (err != nil) != (len(c.want) > 0) {
				t.Fatalf("error is %v", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error lacks %q:\n%v", w, err)
				}
			}
		})
	}
}

func TestLoadCheckedAcceptsShippedManifests(t *testing.T) {
	objects, err := LoadAndCheck(nil, filepath.Join("..", "..", "examples", "shop"), filepath.Join("..", "..", "config", "crd"), filepath.Join("..", "..", "config", "rbac"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Load(filepath.Join("..", "..", "examples", "shop"), filepath.Join("..", "..", "config", "crd"), filepath.Join("..", "..", "config", "rbac"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain, objects); diff != "" {
		t.Errorf("the check changes what is loaded (-plain +checked):\n%s", diff)
	}
}
