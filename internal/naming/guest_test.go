package naming_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

func TestTagsNameGuests(t *testing.T) {
	edge := model.StackID{Kind: model.GlobalAccelerator, Namespace: "shop", Name: "edge"}
	guests := map[string]string{"eu-west-1": naming.GuestTagValue("rig-eu", edge)}
	tags := naming.AcceleratorTags("rig", "us-west-2", edge, map[string]string{"fulcrum.dev/guest/eu-central-1": "rig-eu/evil/edge", "team": "a"}, guests)
	if tags["fulcrum.dev/guest/eu-west-1"] != "rig-eu/shop/edge" || tags["fulcrum.dev/guest/eu-central-1"] != "" || tags["team"] != "a" {
		t.Errorf("tags %v", tags)
	}
	if d := cmp.Diff(guests, naming.GuestsInTags(tags)); d != "" {
		t.Error(d)
	}
	if !naming.IsReservedAcceleratorTag(naming.GuestTag("eu-west-1")) {
		t.Error("users may name guests by their tags")
	}
	for _, c := range []struct {
		cluster, region, value string
		namespace, name        string
		want                   bool
	}{
		{"rig-eu", "eu-west-1", "rig-eu/shop/edge", "shop", "edge", true},
		{"a/b", "eu-west-1", "a/b/shop/edge", "shop", "edge", true},
		{"a", "eu-west-1", "a/b/shop/edge", "shop", "edge", false},
		{"a", "eu-west-1", "a/b/shop/edge", "b", "shop/edge", false},
		{"rig", "eu-west-1", "rig-eu/shop/edge", "shop", "edge", false},
		{"rig-eu", "us-east-1", "rig-eu/shop/edge", "shop", "edge", false},
		{"rig-eu", "eu-west-1", "rig-eu/shop/edge", "shop", "edge2", false},
		{"rig-eu", "eu-west-1", "rig-eu/shop/edge", "evil", "edge", false},
		{"rig-eu", "eu-west-1", "rig-eu/shop/", "shop", "", false},
		{"rig-eu", "eu-west-1", "rig-eu//edge", "", "edge", false},
		{"rig-eu", "eu-west-1", "RIG-EU/shop/edge", "shop", "edge", false},
		{"", "eu-west-1", "/shop/edge", "shop", "edge", false},
		{"rig-eu", "", "rig-eu/shop/edge", "shop", "edge", false},
	} {
		id := model.StackID{Kind: model.GlobalAccelerator, Namespace: c.namespace, Name: c.name}
		if got := naming.IsGuest(c.cluster, c.region, id, map[string]string{naming.GuestTag("eu-west-1"): c.value, naming.GuestTag(""): c.value}); got != c.want {
			t.Errorf("%q lets %s of cluster %q in %q have endpoint groups: %t", c.value, id, c.cluster, c.region, got)
		}
	}
	for region, want := range map[string]bool{"eu-west-1": true, "us-gov-east-1": true, "": false, "EU": false, "eu/west": false, "eu west": false, strings.Repeat("a", 33): false} {
		if naming.IsRegion(region) != want {
			t.Errorf("%q is wrongly a region, or not", region)
		}
	}
}
