package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// webWithReadyPods returns three pods of Service "web" and their EndpointSlice, in which n pods are ready.
func webWithReadyPods(n int) string {
	text := readyPods("web", podAddresses[:3]...)
	at := strings.Index(text, "kind: EndpointSlice")
	return text[:at] + strings.Replace(strings.ReplaceAll(text[at:], "ready: true", "ready: false"), "ready: false", "ready: true", n)
}

// TestTrafficDialFollowsReadyPods checks that the traffic dials of two clusters follow the share of their ready pods.
// A dial changes in steps of 20 with one call each. If one dial is below 100, the other dial stays at 100.
func TestTrafficDialFollowsReadyPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTwoClusters(t)
		const follows = ", fulcrum.dev/traffic-dial: ready-targets"
		c.owner.Apply(sharedEdge(guestsAnnotation(SecondRegion+"=rig/shop/edge")+follows, webListener))
		c.settle(10 * time.Minute)
		arn := acceleratorsInAWS(c.owner)[0].ARN
		c.guest.Apply(sharedEdge(sharedAcceleratorAnnotation(arn)+follows, webListener))
		c.settle(10 * time.Minute)
		c.expectEndpointGroups(t, "all pods are ready", guestEndpointGroup, ownerEndpointGroup)
		updates := func() (n int) { return c.owner.Emulator.Calls().Count("UpdateEndpointGroup") }

		c.owner.Emulator.Calls().Reset()
		c.guest.Apply(webWithReadyPods(1))
		c.settle(15 * time.Minute)
		c.expectEndpointGroups(t, "one of three pods of the guest is ready", "80 eu-west-1 dial=40 eu-west-1=128", ownerEndpointGroup)
		if n := updates(); n != 3 {
			t.Errorf("%d changes from 100 to 40 in steps of 20", n)
		}
		c.owner.Apply(webWithReadyPods(2))
		c.settle(15 * time.Minute)
		c.expectEndpointGroups(t, "the owner lacks a pod as well", "80 eu-west-1 dial=40 eu-west-1=128", ownerEndpointGroup)
		c.guest.Apply(webWithReadyPods(3))
		c.settle(15 * time.Minute)
		c.expectEndpointGroups(t, "the guest is ready again, and the owner lacks a pod", guestEndpointGroup, "80 us-west-2 dial=70 us-west-2=128")
		if n := updates(); n != 8 {
			t.Errorf("%d changes, want 8: 3 of the guest to 40, 3 of the guest to 100, and 2 of the owner to 70", n)
		}
		c.owner.Emulator.Calls().Reset()
		c.settle(time.Hour)
		if got := acceleratorMutations(c.owner); len(got) > 0 {
			t.Errorf("without a change of pods: %v", got)
		}

		// A user sets the dial of the guest in AWS. Both dials are then below 100.
		c.setDial(SecondRegion, 50)
		c.settle(time.Hour)
		c.expectEndpointGroups(t, "both were below 100", guestEndpointGroup, "80 us-west-2 dial=70 us-west-2=128")
	})
}

// setDial sets the traffic dial of all endpoint groups in a region, as a user would do in AWS.
func (c twoClusters) setDial(region string, dial float32) {
	s := c.owner.Emulator.Store()
	s.Lock()
	defer s.Unlock()
	for _, a := range s.AcceleratorState(Account).Accelerators {
		for _, l := range a.Listeners {
			for _, g := range l.Groups {
				if g.Region == region {
					g.Dial = dial
				}
			}
		}
	}
}

// TestTrafficDialIs100InOneOfTwoClusters checks that at least one of the two dials is always 100, also if both
// clusters repeatedly lose and regain pods at the same time.
func TestTrafficDialIs100InOneOfTwoClusters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTwoClusters(t)
		const follows = ", fulcrum.dev/traffic-dial: 'ready-targets,step=30'"
		c.owner.Apply(sharedEdge(guestsAnnotation(SecondRegion+"=rig/shop/edge")+follows, webListener))
		c.settle(10 * time.Minute)
		c.guest.Apply(sharedEdge(sharedAcceleratorAnnotation(acceleratorsInAWS(c.owner)[0].ARN)+follows, webListener))
		c.settle(10 * time.Minute)
		lowered := map[string]bool{}
		for round := range 12 {
			both := []*Harness{c.owner, c.guest}
			for i := range both {
				both[(i+round)%2].Apply(webWithReadyPods(1 + 2*(round%2)))
			}
			for second := range 600 {
				both[(second+round)%2].Settle(0)
				both[(second+round+1)%2].Settle(0)
				time.Sleep(time.Second)
				low := 0
				for _, g := range c.endpointGroups() {
					if !strings.Contains(g, "dial=100 ") {
						low++
						lowered[g] = true
					}
				}
				if low > 1 {
					t.Fatalf("round %d, second %d: %q", round, second, c.endpointGroups())
				}
			}
		}
		if len(lowered) == 0 {
			t.Error("no dial was ever lowered")
		}
	})
}

// TestFlappingPodsRarelyChangeTrafficDial checks that pods that switch between ready and not ready every second change
// a traffic dial at most 20 times in ten minutes.
func TestFlappingPodsRarelyChangeTrafficDial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTwoClusters(t)
		arn := c.createSharedAccelerator(t)
		c.guest.Apply(sharedEdge(sharedAcceleratorAnnotation(arn)+", fulcrum.dev/traffic-dial: ready-targets", webListener))
		c.settle(10 * time.Minute)
		c.owner.Emulator.Calls().Reset()
		for i := range 600 {
			c.guest.Apply(webWithReadyPods(1 + 2*(i%2)))
			time.Sleep(time.Second)
			c.guest.Settle(0)
		}
		calls, changes := 0, c.owner.Emulator.Calls().Count("UpdateEndpointGroup")
		for _, e := range c.owner.Emulator.Calls().Entries() {
			if e.Service == "globalaccelerator" {
				calls++
			}
		}
		// In each run the guest reads the owner's consent, the listeners and the endpoint groups, but at most once in
		// ten seconds.
		if changes > 20 || calls > 3*60+6*changes {
			t.Errorf("600 changes of pods in ten minutes: %d changes of the dial, calls %v", changes, c.owner.Emulator.Calls().Counts())
		}
	})
}
