package crd_test

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/config/crd"
)

func TestDefinitionsKeepWhatClustersHave(t *testing.T) {
	type version struct {
		Name         string
		Served       bool
		Storage      bool
		Subresources map[string]any
	}
	type definition struct {
		Metadata struct{ Name string }
		Spec     struct {
			Scope    string
			Versions []version
		}
	}
	docs, err := crd.Documents()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]definition{}
	for _, doc := range docs {
		var d definition
		if err := yaml.Unmarshal(doc, &d); err != nil {
			t.Fatal(err)
		}
		got[d.Metadata.Name] = d
	}
	for name, scope := range map[string]string{
		"ingressclassparams.elbv2.k8s.aws":      "Cluster",
		"targetgroupbindings.elbv2.k8s.aws":     "Namespaced",
		"albtargetcontrolconfigs.elbv2.k8s.aws": "Namespaced",
	} {
		d, ok := got[name]
		if !ok || d.Spec.Scope != scope {
			t.Errorf("%s: %+v", name, d)
			continue
		}
		stored := slices.IndexFunc(d.Spec.Versions, func(v version) bool { return v.Storage })
		if stored < 0 || d.Spec.Versions[stored].Name != "v1beta1" {
			t.Errorf("%s stores %+v", name, d.Spec.Versions)
		}
		for _, v := range d.Spec.Versions {
			_, status := v.Subresources["status"]
			if !v.Served || status != (name == "targetgroupbindings.elbv2.k8s.aws") {
				t.Errorf("%s %s: %+v", name, v.Name, v)
			}
		}
	}
}
