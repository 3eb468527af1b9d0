package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// twoClusters are two clusters with the same name in two regions of one account, each with Ingress "shop/web". The
// accelerator belongs to owner, and guest adds endpoint groups to it.
type twoClusters struct{ owner, guest *Harness }

func newTwoClusters(t *testing.T) twoClusters {
	t.Helper()
	c := twoClusters{owner: newAcceleratorHarness(t, Options{})}
	c.guest = New(t, Options{Accelerators: true, SharesAWSWith: c.owner, Drift: true})
	cfg := AWSConfig(c.owner.Emulator)
	cfg.Region = SecondRegion
	for i, a := range podAddresses[:3] {
		if err := AssignPodAddresses(t.Context(), cfg, c.guest.Seeded.Instances[i], a); err != nil {
			t.Fatal(err)
		}
	}
	c.guest.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
	c.settle(10 * time.Minute)
	return c
}

// settle runs both controllers in turn until the duration d is over.
func (c twoClusters) settle(d time.Duration) {
	const each = 30 * time.Second
	for end := time.Now().Add(d); time.Now().Before(end); {
		next := time.Now().Add(each)
		c.owner.Settle(each)
		c.guest.Settle(each)
		time.Sleep(time.Until(next)) // also advances the clock if no work was due
	}
}

// sharedEdge returns GlobalAccelerator "shop/edge" with the annotation and listeners, both in YAML flow style.
func sharedEdge(annotation, listeners string) string {
	return strings.Replace(edgeAccelerator(listeners), "uid: shop-edge", "uid: shop-edge, annotations: {"+annotation+"}", 1)
}

func guestsAnnotation(names string) string {
	return fmt.Sprintf("fulcrum.dev/accelerator-guests: %q", names)
}

func sharedAcceleratorAnnotation(arn string) string {
	return fmt.Sprintf("fulcrum.dev/shared-accelerator: %q", arn)
}

// createSharedAccelerator creates the accelerator of the owner and the endpoint group of the guest, and returns the
// ARN of the accelerator.
func (c twoClusters) createSharedAccelerator(t *testing.T) (arn string) {
	t.Helper()
	c.owner.Apply(sharedEdge(guestsAnnotation(SecondRegion+"=rig/shop/edge"), webListener))
	c.settle(10 * time.Minute)
	arn = acceleratorsInAWS(c.owner)[0].ARN
	c.guest.Apply(sharedEdge(sharedAcceleratorAnnotation(arn), webListener))
	c.settle(10 * time.Minute)
	return arn
}

// endpointGroups returns a sorted list with one line "port region dial overrides endpoints" for each endpoint group.
func (c twoClusters) endpointGroups() (out []string) {
	for _, a := range acceleratorsInAWS(c.owner) {
		for _, l := range a.Listeners {
			for _, g := range l.Groups {
				text := fmt.Sprintf("%d %s dial=%v", l.Ranges[0].From, g.Region, g.Dial)
				for _, o := range g.Overrides {
					text += fmt.Sprintf(" %d->%d", o.Listener, o.Endpoint)
				}
				for _, e := range g.Endpoints {
					region := strings.Split(e.ID, ":")[3]
					text += fmt.Sprintf(" %s=%d", region, e.Weight)
				}
				out = append(out, text)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (c twoClusters) expectEndpointGroups(t *testing.T, when string, want ...string) {
	t.Helper()
	if got := c.endpointGroups(); !slices.Equal(got, want) {
		t.Errorf("%s: endpoint groups %q, want %q\nowner: %s\nguest: %s", when, got, want,
			strings.Join(eventsOf(c.owner, "shop", "edge"), "\n"), strings.Join(eventsOf(c.guest, "shop", "edge"), "\n"))
	}
}

const (
	ownerEndpointGroup = "80 us-west-2 dial=100 us-west-2=128"
	guestEndpointGroup = "80 eu-west-1 dial=100 eu-west-1=128"
)

func deleteEdge(t *testing.T, r *Harness) {
	t.Helper()
	if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindGlobalAccelerator, Namespace: "shop", Name: "edge"}); err != nil {
		t.Fatal(err)
	}
}

// TestTwoClustersShareAnAccelerator checks that two clusters can each have an endpoint group for their region under
// the listeners of one accelerator, and that edits in one cluster do not change the endpoint group of the other
// cluster.
func TestTwoClustersShareAnAccelerator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTwoClusters(t)
		arn := c.createSharedAccelerator(t)
		c.expectEndpointGroups(t, "shared", guestEndpointGroup, ownerEndpointGroup)
		ga := acceleratorObject(c.guest, "shop", "edge")
		if got := readyCondition(ga); got != "True AcceleratorReady" || ga.Status.AcceleratorARN != "" {
			t.Errorf("the guest shows %s and ARN %q", got, ga.Status.AcceleratorARN)
		}
		if a := acceleratorsInAWS(c.owner)[0]; a.Tags["fulcrum.dev/guest/"+SecondRegion] != "rig/shop/edge" || a.Tags["elbv2.k8s.aws/cluster-region"] != Region {
			t.Errorf("tags %v", a.Tags)
		}
		c.owner.Emulator.Calls().Reset()
		c.settle(2 * time.Hour)
		if got := acceleratorMutations(c.owner); len(got) > 0 {
			t.Errorf("without an edit: %v", got)
		}

		c.guest.Apply(sharedEdge(sharedAcceleratorAnnotation(arn), strings.Replace(webListener, "name: web}", "name: web, weight: 7}", 1)))
		c.settle(10 * time.Minute)
		c.expectEndpointGroups(t, "the guest sets a weight", "80 eu-west-1 dial=100 eu-west-1=7", ownerEndpointGroup)
		c.owner.Apply(sharedEdge(guestsAnnotation(SecondRegion+"=rig/shop/edge"), webListener+", "+strings.ReplaceAll(webListener, "80", "8443")))
		c.settle(10 * time.Minute)
		c.expectEndpointGroups(t, "the owner adds a listener", "80 eu-west-1 dial=100 eu-west-1=7", ownerEndpointGroup, "8443 us-west-2 dial=100 us-west-2=128")
		c.owner.Apply(sharedEdge(guestsAnnotation(SecondRegion+"=rig/shop/edge"), strings.ReplaceAll(webListener, "80", "8443")))
		c.settle(10 * time.Minute)
		c.expectEndpointGroups(t, "the owner removes the listener of the guest", "80 eu-west-1 dial=100 eu-west-1=7", "8443 us-west-2 dial=100 us-west-2=128")
		if texts := strings.Join(eventsOf(c.owner, "shop", "edge"), "\n"); !strings.Contains(texts, "HeldForGuest") || !strings.Contains(texts, "rig/shop/edge (eu-west-1)") {
			t.Errorf("the owner's events do not name the guest: %s", texts)
		}
	})
}

// TestSharedAcceleratorIsDeletedAfterItsGuest checks that deleting the guest's object removes only the guest's endpoint group,
// and that the owner's object and the accelerator are deleted only after the guest's endpoint group is deleted.
func TestSharedAcceleratorIsDeletedAfterItsGuest(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"guest first": "guest", "owner first": "owner"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newTwoClusters(t)
				c.createSharedAccelerator(t)
				if first == "guest" {
					deleteEdge(t, c.guest)
					c.settle(10 * time.Minute)
					c.expectEndpointGroups(t, "the guest is deleted", ownerEndpointGroup)
					if acceleratorObject(c.guest, "shop", "edge") != nil {
						t.Error("the guest's object stays")
					}
					deleteEdge(t, c.owner)
				} else {
					deleteEdge(t, c.owner)
					c.settle(10 * time.Minute)
					c.expectEndpointGroups(t, "the owner is deleted", guestEndpointGroup)
					if texts := strings.Join(eventsOf(c.owner, "shop", "edge"), "\n"); !strings.Contains(texts, "HeldForGuest") {
						t.Errorf("the owner's events: %s", texts)
					}
					deleteEdge(t, c.guest)
				}
				c.settle(20 * time.Minute)
				if got := acceleratorsInAWS(c.owner); len(got) > 0 {
					t.Errorf("the accelerator stays: %v", c.endpointGroups())
				}
				for _, r := range []*Harness{c.owner, c.guest} {
					if acceleratorObject(r, "shop", "edge") != nil {
						t.Error("an object stays")
					}
				}
			})
		})
	}
}

// TestEndpointGroupOfWithdrawnGuestIsDeleted checks that the owner deletes the endpoint group of a guest that its
// annotation no longer names, and that the guest reports that the accelerator is not shared.
func TestEndpointGroupOfWithdrawnGuestIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTwoClusters(t)
		c.createSharedAccelerator(t)
		c.owner.Apply(edgeAccelerator(webListener))
		c.settle(30 * time.Minute) // the guest's next comparison with AWS finds that the tag was removed
		c.expectEndpointGroups(t, "withdrawn", ownerEndpointGroup)
		if tags := acceleratorsInAWS(c.owner)[0].Tags; tags["fulcrum.dev/guest/"+SecondRegion] != "" {
			t.Errorf("tags %v", tags)
		}
		if texts := strings.Join(eventsOf(c.guest, "shop", "edge"), "\n"); !strings.Contains(texts, "AcceleratorNotShared") {
			t.Errorf("the guest's events: %s", texts)
		}
		deleteEdge(t, c.guest)
		c.settle(5 * time.Minute)
		c.expectEndpointGroups(t, "the guest is deleted", ownerEndpointGroup)
		if acceleratorObject(c.guest, "shop", "edge") != nil {
			t.Error("the guest's object stays")
		}
	})
}

// TestGuestNeedsConsentOfOwner checks that a guest changes nothing unless the owner's consent names the region,
// cluster, namespace and name of the guest's object.
func TestGuestNeedsConsentOfOwner(t *testing.T) {
	t.Parallel()
	for name, consent := range map[string]string{
		"none": "", "for another cluster": SecondRegion + "=other/shop/edge", "for another namespace": SecondRegion + "=rig/bank/edge",
		"for another name": SecondRegion + "=rig/shop/edge2", "for another region": "eu-central-1=rig/shop/edge", "for the region of the owner": Region + "=rig/shop/edge",
		"not a guest": SecondRegion + "=rig", "by a tag of the user": "tag",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newTwoClusters(t)
				switch consent {
				case "":
					c.owner.Apply(edgeAccelerator(webListener))
				case "tag":
					c.owner.Apply(accelerator("shop", "edge", "tags: {fulcrum.dev/guest/"+SecondRegion+": rig/shop/edge}, listeners: ["+webListener+"]"))
				default:
					c.owner.Apply(sharedEdge(guestsAnnotation(consent), webListener))
				}
				c.settle(10 * time.Minute)
				before := acceleratorState(c.owner)
				for _, arn := range []string{acceleratorsInAWS(c.owner)[0].ARN, "arn:aws:globalaccelerator::123456789012:accelerator/no-such", "x", strings.Repeat("a", 5000), acceleratorsInAWS(c.owner)[0].ARN + "/listener/1"} {
					c.guest.Apply(sharedEdge(sharedAcceleratorAnnotation(arn), webListener))
					c.settle(5 * time.Minute)
					if got := acceleratorState(c.owner); !slices.Equal(got, before) {
						t.Fatalf("changed by %q: %q", arn, got)
					}
					if got := readyCondition(acceleratorObject(c.guest, "shop", "edge")); !strings.HasPrefix(got, "False ") {
						t.Errorf("with %q the guest is %s", arn, got)
					}
				}
				deleteEdge(t, c.guest)
				c.settle(5 * time.Minute)
				if got := acceleratorState(c.owner); !slices.Equal(got, before) || acceleratorObject(c.guest, "shop", "edge") != nil {
					t.Errorf("after the deletion: %q", got)
				}
			})
		})
	}
}

// TestGuestKeepsTrafficWithoutOtherEndpointGroup checks that a guest lowers its traffic dial only if another endpoint
// group takes the traffic.
func TestGuestKeepsTrafficWithoutOtherEndpointGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTwoClusters(t)
		arn := c.createSharedAccelerator(t)
		dialed := func(dial int) string {
			return strings.Replace(webListener, "endpointGroups: [{", fmt.Sprintf("endpointGroups: [{trafficDialPercentage: %d, ", dial), 1)
		}
		c.guest.Apply(sharedEdge(sharedAcceleratorAnnotation(arn), dialed(0)))
		c.settle(10 * time.Minute)
		c.expectEndpointGroups(t, "the owner takes it all", "80 eu-west-1 dial=0 eu-west-1=128", ownerEndpointGroup)
		c.guest.Apply(sharedEdge(sharedAcceleratorAnnotation(arn), webListener))
		c.settle(10 * time.Minute)
		c.owner.Apply(sharedEdge(guestsAnnotation(SecondRegion+"=rig/shop/edge"), dialed(20)))
		c.settle(10 * time.Minute)
		c.guest.Apply(sharedEdge(sharedAcceleratorAnnotation(arn), dialed(50)))
		c.settle(10 * time.Minute)
		c.expectEndpointGroups(t, "the owner takes a part", guestEndpointGroup, "80 us-west-2 dial=20 us-west-2=128")
		if texts := strings.Join(eventsOf(c.guest, "shop", "edge"), "\n"); !strings.Contains(texts, "the traffic dial stays at 100") {
			t.Errorf("the guest's events: %s", texts)
		}
	})
}

// TestPortOverridesOfOwnerAndGuestContradict checks what happens if owner and guest use one endpoint port under two
// listeners, which AWS does not allow. The second of them reports the first and makes no call that AWS refuses. Its
// port override is applied when the port is free.
func TestPortOverridesOfOwnerAndGuestContradict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTwoClusters(t)
		at := func(port int) string { return strings.ReplaceAll(webListener, "80", fmt.Sprint(port)) }
		to := func(port, endpoint int) string {
			return strings.Replace(at(port), "endpointGroups: [{", fmt.Sprintf("endpointGroups: [{portOverrides: [{listenerPort: %d, endpointPort: %d}], ", port, endpoint), 1)
		}
		const owner, guest443 = "us-west-2 dial=100", "443 eu-west-1 dial=100 443->9000 eu-west-1=128"
		lists := func(r *Harness, annotation string, listeners ...string) {
			r.Apply(sharedEdge(annotation, strings.Join(listeners, ", ")))
			c.settle(10 * time.Minute)
		}
		says := func(r *Harness, text string) {
			t.Helper()
			if texts := strings.Join(eventsOf(r, "shop", "edge"), "\n"); !strings.Contains(texts, text) {
				t.Errorf("no event has %q: %s", text, texts)
			}
		}
		ours := guestsAnnotation(SecondRegion + "=rig/shop/edge")
		lists(c.owner, ours, to(80, 9000), at(443))
		shared := sharedAcceleratorAnnotation(acceleratorsInAWS(c.owner)[0].ARN)
		c.owner.Emulator.Calls().Reset()
		lists(c.guest, shared, at(80), to(443, 9000))
		c.expectEndpointGroups(t, "the owner has the port", "443 "+owner+" us-west-2=128", guestEndpointGroup, "80 "+owner+" 80->9000 us-west-2=128")
		says(c.guest, "spec.listeners[1].endpointGroups[0].portOverrides: endpoint port 9000 is used under another listener by the endpoint group of rig/shop/edge (us-west-2)")
		lists(c.guest, shared, to(80, 9000), at(443))
		c.expectEndpointGroups(t, "the same port under the same listener", "443 eu-west-1 dial=100 eu-west-1=128", "443 "+owner+" us-west-2=128", "80 eu-west-1 dial=100 80->9000 eu-west-1=128", "80 "+owner+" 80->9000 us-west-2=128")
		lists(c.guest, shared, at(80))
		lists(c.guest, shared, to(80, 443))
		says(c.guest, "endpoint port 443 is a port of listener TCP 443 of the accelerator")
		lists(c.guest, shared, at(80), to(443, 9000))
		lists(c.owner, ours, at(80), at(443))
		c.expectEndpointGroups(t, "the owner gives it up", guest443, "443 "+owner+" us-west-2=128", guestEndpointGroup, ownerEndpointGroup)
		lists(c.owner, ours, to(80, 9000), at(443))
		c.expectEndpointGroups(t, "the guest has the port", guest443, "443 "+owner+" us-west-2=128", guestEndpointGroup, ownerEndpointGroup)
		says(c.owner, "endpoint port 9000 is used under another listener by the endpoint group of rig/shop/edge (eu-west-1)")
		for _, e := range c.owner.Emulator.Calls().Entries() {
			if e.Service == "globalaccelerator" && e.Code != "" {
				t.Errorf("AWS refuses %s: %s", e.Operation, e.Code)
			}
		}
	})
}

// TestGuestOfManuallyCreatedAccelerator checks that a guest creates its endpoint group under an accelerator whose
// listener and tags a user manages, and that it changes no tag.
func TestGuestOfManuallyCreatedAccelerator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTwoClusters(t)
		arn := c.createSharedAccelerator(t)
		deleteEdge(t, c.guest)
		c.settle(10 * time.Minute)
		c.owner.stop() // no controller serves the accelerator any more
		tags := map[string]string{"fulcrum.dev/guest/" + SecondRegion: "rig/shop/edge", "team": "edge"}
		c.setTags(arn, tags)
		c.guest.Allow(slices.Concat(shippedPolicies(c.guest.T, c.guest.Emulator), [][]byte{policyFor(arn)})...)
		c.guest.Settle(20 * time.Minute)
		c.guest.Apply(sharedEdge(sharedAcceleratorAnnotation(arn), webListener))
		c.guest.Settle(10 * time.Minute)
		c.expectEndpointGroups(t, "tagged by a person", guestEndpointGroup, ownerEndpointGroup)
		if got := acceleratorsInAWS(c.owner)[0].Tags; !maps.Equal(got, tags) {
			t.Errorf("tags %v", got)
		}
		deleteEdge(t, c.guest)
		c.guest.Settle(10 * time.Minute)
		c.expectEndpointGroups(t, "the guest is deleted", ownerEndpointGroup)
	})
}

// policyFor returns the IAM policy that docs/accelerators.md shows for an accelerator that a user created.
func policyFor(arn string) []byte {
	return fmt.Appendf(nil, `{"Version": "2012-10-17", "Statement": [{
		"Effect": "Allow",
		"Action": ["globalaccelerator:CreateEndpointGroup", "globalaccelerator:UpdateEndpointGroup", "globalaccelerator:AddEndpoints", "globalaccelerator:RemoveEndpoints", "globalaccelerator:DeleteEndpointGroup"],
		"Resource": [%[1]q, "%[1]s/*"]
	}]}`, arn)
}

// setTags replaces the tags of an accelerator, as a user would do in AWS.
func (c twoClusters) setTags(arn string, tags map[string]string) {
	w := c.owner.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	var a *store.Accelerator
	for _, x := range w.AcceleratorState(Account).Accelerators {
		if x.ARN == arn {
			a = x
		}
	}
	a.Tags = maps.Clone(tags)
}
