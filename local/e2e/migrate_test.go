package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// TestAPIServerAcceptsTranslatedObjects checks that an API server with the CRDs of the Gateway API and of Fulcrum accepts
// all objects in the golden files of `fulcrum migrate`.
func TestAPIServerAcceptsTranslatedObjects(t *testing.T) {
	t.Parallel()
	w := worldPool.AcquireForTest(t, world.Options{})
	c, err := kube.New(w.RESTConfig(), kube.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{"shop", "blog", "plant-shop"} {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(worldtest.SourceRoot(t), "internal/migrate/testdata/*.txtar"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range txtar.Parse(text).Files {
			if part.Name != "gateway.yaml" {
				continue
			}
			objects, err := manifest.Parse(part.Data)
			if err != nil {
				t.Fatalf("%s: %v", filepath.Base(file), err)
			}
			for _, o := range objects {
				if err := c.Create(t.Context(), o, kube.DryRunAll); err != nil {
					t.Errorf("%s: %s %s: %v", filepath.Base(file), o.GetKind(), o.GetName(), err)
				}
			}
		}
	}
}
