package naming_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

func TestNamesOfAccelerators(t *testing.T) {
	of := func(namespace, name string) model.StackID {
		return model.StackID{Kind: model.GlobalAccelerator, Namespace: namespace, Name: name}
	}
	for i, c := range []struct {
		want string
		id   model.StackID
		dual bool
	}{
		{"k8s_shop_web-accelerator_e59e9f834c84d34a6249fa0b9", of("shop", "web-accelerator"), false},
		{"k8s_shop_web-accelerator_8d8a333ac7a4dd626604fab57", of("shop", "web-accelerator"), true},
		{"k8s_very-long-namesp_accv1_315f057ee8e2c78e85aa7899e", of("very-long-namespace-name", "acc.v1"), false},
	} {
		got := naming.AcceleratorName("prod-cluster", "eu-west-1", c.id, c.dual)
		if got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
		if fault := naming.AcceleratorNameFault(got); fault != "" {
			t.Errorf("%s: %s", got, fault)
		}
	}
	for _, bad := range []string{"", "-a", "a-", "a.b", "ä", "0123456789012345678901234567890123456789012345678901234567890123x"} {
		if naming.AcceleratorNameFault(bad) == "" {
			t.Errorf("%q is taken for a name", bad)
		}
	}
}

func TestTagsOfAccelerators(t *testing.T) {
	id := model.StackID{Kind: model.GlobalAccelerator, Namespace: "shop", Name: "web"}
	user := map[string]string{"team": "a", "aga.k8s.aws/stack": "other/x", "elbv2.k8s.aws/cluster-region": "us-east-1"}
	got := naming.AcceleratorTags("prod", "eu-west-1", id, user, nil)
	want := map[string]string{
		"elbv2.k8s.aws/cluster": "prod", "elbv2.k8s.aws/cluster-region": "eu-west-1",
		"aga.k8s.aws/stack": "shop/web", "aga.k8s.aws/resource": "GlobalAccelerator", "team": "a",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for key := range want {
		if naming.IsReservedAcceleratorTag(key) != (key != "team") {
			t.Errorf("%s is wrongly reserved, or not", key)
		}
		if key == "team" {
			continue
		}
		for _, change := range []func(map[string]string){
			func(m map[string]string) { delete(m, key) }, func(m map[string]string) { m[key] += "x" },
		} {
			tags := naming.AcceleratorTags("prod", "eu-west-1", id, nil, nil)
			change(tags)
			if naming.IsAcceleratorOfStack("prod", "eu-west-1", id, tags) {
				t.Errorf("taken for the stack's with %v", tags)
			}
		}
	}
	if !naming.IsAcceleratorOfStack("prod", "eu-west-1", id, got) || !naming.IsAcceleratorOfCluster("prod", "eu-west-1", got) {
		t.Error("not taken for the stack's")
	}
	if naming.IsAcceleratorOfCluster("prod", "us-east-1", got) || naming.IsAcceleratorOfCluster("dev", "eu-west-1", got) {
		t.Error("taken for that of another cluster")
	}
	if of, ok := naming.StackOfFinalizer(naming.Finalizer(id), "shop", "web"); !ok || of != id {
		t.Errorf("the finalizer leads to %v", of)
	}
}
