package charts

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite golden files and generated files")

const (
	chartDir         = "fulcrum"
	releaseName      = "aws-load-balancer-controller"
	releaseNamespace = "kube-system"
	// kubernetesVersion is the default Kubernetes version of renderings.
	kubernetesVersion = "v1.37.0"
)

// valuesFiles returns the names, without extension, of the values files in testdata/values. Each file describes a different
// kind of installation.
func valuesFiles(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 11 {
		t.Fatalf("%d values files", len(paths))
	}
	var out []string
	for _, p := range paths {
		out = append(out, strings.TrimSuffix(filepath.Base(p), ".yaml"))
	}
	return out
}

func readValues(t *testing.T, name string) map[string]any {
	t.Helper()
	return parseValues(t, string(readFile(t, filepath.Join("testdata", "values", name+".yaml"))))
}

func parseValues(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// renderOptions are the Kubernetes version, the release name and the objects that the template function "lookup" finds. The
// zero value is a first installation with releaseName in a cluster of version kubernetesVersion.
type renderOptions struct {
	kubernetes string
	release    string
	lookup     engine.ClientProvider
}

// renderManifests renders the chart as "helm template" does. It returns all documents in ascending order of file name.
func renderManifests(t *testing.T, values map[string]any, o renderOptions) (string, error) {
	t.Helper()
	if o.kubernetes == "" {
		o.kubernetes = kubernetesVersion
	}
	if o.release == "" {
		o.release = releaseName
	}
	version, err := common.ParseKubeVersion(o.kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	c := loadChart(t)
	all, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: o.release, Namespace: releaseNamespace, Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(c, all)
	if o.lookup != nil {
		files, err = engine.RenderWithClientProvider(c, all, o.lookup)
	}
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if !yield(name) {
				return
			}
		}
	}) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		for _, doc := range strings.Split(files[name], "\n---\n") {
			if doc = strings.TrimSpace(doc); doc != "" && doc != "---" {
				out.WriteString("---\n" + strings.TrimPrefix(doc, "---\n") + "\n")
			}
		}
	}
	return out.String(), nil
}

// render is like renderManifests, but fails the test on an error.
func render(t *testing.T, values map[string]any, o renderOptions) string {
	t.Helper()
	out, err := renderManifests(t, values, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// parseObjects parses rendered manifests. A duplicate key is an error.
func parseObjects(t *testing.T, rendered string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, doc := range strings.Split(rendered, "---\n") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(doc), &u.Object); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if u.Object != nil {
			out = append(out, u)
		}
	}
	return out
}

// findObject returns the only object with a kind and a name. If name is "", any name matches. It fails the test unless
// exactly one object matches.
func findObject(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, u := range all {
		if u.GetKind() == kind && (name == "" || u.GetName() == name) {
			found = append(found, u)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects match kind %s and name %s, want 1", len(found), kind, name)
	}
	return found[0]
}

// fieldAt returns the field at a path. Strings in the path are keys of maps, and numbers are indices of lists.
func fieldAt[T any](t *testing.T, from any, path ...any) T {
	t.Helper()
	for i, step := range path {
		switch key := step.(type) {
		case string:
			m, ok := from.(map[string]any)
			if !ok {
				t.Fatalf("%v: no map before %v", path, path[i])
			}
			from = m[key]
		case int:
			l, ok := from.([]any)
			if !ok || len(l) <= key {
				t.Fatalf("%v: no item %v", path, path[i])
			}
			from = l[key]
		}
	}
	out, ok := from.(T)
	if !ok {
		t.Fatalf("%v is a %T", path, from)
	}
	return out
}

// checkGolden compares a text with a golden file. With the flag -update it writes the text to the file.
func checkGolden(t *testing.T, path, got string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if bytes.Equal(want, []byte(got)) {
		return
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s differs; go test -update rewrites it (-is +should be):\n%s", path, cmp.Diff(string(want), got))
}

// TestRenderedChartMatchesGoldenFiles compares the rendering of each values file with its golden file.
func TestRenderedChartMatchesGoldenFiles(t *testing.T) {
	for _, name := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			rendered := render(t, readValues(t, name), renderOptions{})
			parseObjects(t, rendered)
			checkGolden(t, filepath.Join("testdata", "golden", name+".yaml"), rendered)
		})
	}
}

// TestHelmLintPasses checks that helm lint reports nothing.
func TestHelmLintPasses(t *testing.T) {
	version, err := common.ParseKubeVersion(kubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range valuesFiles(t) {
		for _, m := range lint.RunAll(chartDir, readValues(t, name), releaseNamespace, lint.WithKubeVersion(version)).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}
