package accelerators

import (
	"maps"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestEndpointGroupsBelongToOwnerOrGuest checks that the owner of an accelerator owns the endpoint groups in all regions
// without a guest, and that a guest owns only the endpoint groups in its region.
func TestEndpointGroupsBelongToOwnerOrGuest(t *testing.T) {
	const own, other = "eu-west-1", "us-east-1"
	id := model.StackID{Kind: model.GlobalAccelerator, Namespace: "shop", Name: "edge"}
	stranger := model.StackID{Kind: model.GlobalAccelerator, Namespace: "evil", Name: "edge"}
	owned := naming.AcceleratorTrackingTags("rig", own, id)
	with := func(tags map[string]string, guests map[string]string) map[string]string {
		out := maps.Clone(tags)
		maps.Copy(out, naming.GuestTags(guests))
		return out
	}
	guest := naming.GuestTagValue("rig", id)
	for name, c := range map[string]struct {
		tags   map[string]string
		region string
		has    bool
	}{
		"the owner":                            {owned, own, true},
		"the owner in another region":          {owned, other, true},
		"the owner where a guest is":           {with(owned, map[string]string{other: "rig2/shop/edge"}), other, false},
		"the owner beside a guest":             {with(owned, map[string]string{other: "rig2/shop/edge"}), own, true},
		"a guest":                              {naming.GuestTags(map[string]string{own: guest}), own, true},
		"a guest in another region":            {naming.GuestTags(map[string]string{own: guest}), other, false},
		"a guest in another region by its tag": {naming.GuestTags(map[string]string{other: guest}), other, false},
		"another guest of the region":          {naming.GuestTags(map[string]string{own: naming.GuestTagValue("rig", stranger)}), own, false},
		"a stack of another cluster":           {naming.GuestTags(map[string]string{own: naming.GuestTagValue("rig2", id)}), own, false},
		"another owner":                        {naming.AcceleratorTrackingTags("rig", own, stranger), own, false},
		"none of both":                         {nil, own, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := New(&sdk.Client{Config: sdk.Config{Cluster: "rig", Region: own}}, nil)
			all.entries["arn"] = &cachedAccelerator{seen: observed.Accelerator{ARN: "arn", Tags: c.tags}}
			err := writer{Accelerators: all, id: id}.checkRegionOwner("arn/listener/1/endpoint-group/2", c.region)
			if (err == nil) != c.has {
				t.Errorf("checkRegionOwner returned %v, want success: %t", err, c.has)
			}
		})
	}
}
