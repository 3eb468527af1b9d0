package harness

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"
	"github.com/aws/smithy-go"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/authz"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// makeAcceleratorCalls makes the calls that create, change and delete an accelerator, with the credentials of the
// controller. It repeats a denied call with credentials that have all permissions. It returns the error messages of
// the denied calls.
func makeAcceleratorCalls(t *testing.T, r *Harness) (denied []string) {
	t.Helper()
	ctx, cfg := t.Context(), AWSConfig(r.Emulator)
	balancer, err := elb.NewFromConfig(cfg).CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{Name: aws.String("web"), Type: elbtypes.LoadBalancerTypeEnumNetwork, Subnets: r.Seeded.Public[:2], SecurityGroups: []string{r.Seeded.ExtraSG}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Minute)
	endpoint := *balancer.LoadBalancers[0].LoadBalancerArn
	as := func(key string) *ga.Client {
		own := cfg.Copy()
		own.Region, own.RetryMaxAttempts, own.Credentials = store.AcceleratorRegion, 1, credentials.NewStaticCredentialsProvider(key, "secret", "")
		return ga.NewFromConfig(own)
	}
	api, other := as(ControllerKey), as(AccessKey)
	tag := func(key, value string) gatypes.Tag { return gatypes.Tag{Key: &key, Value: &value} }
	both := []gatypes.Tag{tag("elbv2.k8s.aws/cluster", "rig"), tag("aga.k8s.aws/resource", "GlobalAccelerator")}
	ports := func(port int32) []gatypes.PortRange {
		return []gatypes.PortRange{{FromPort: &port, ToPort: &port}}
	}
	// note records a denied call and returns false for it. It fails the test for any other error.
	note := func(err error) bool {
		if err == nil {
			return true
		}
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != "AccessDeniedException" {
			t.Fatal(err)
		}
		denied = append(denied, api.ErrorMessage())
		return false
	}
	// A denied call is repeated with AccessKey, which has all permissions. The lifecycle then continues.
	accelerator := callWithFallback(note, func(c *ga.Client) (*ga.CreateAcceleratorOutput, error) {
		return c.CreateAccelerator(ctx, &ga.CreateAcceleratorInput{Name: aws.String("web"), Tags: both, Enabled: aws.Bool(true)})
	}, api, other).Accelerator.AcceleratorArn
	listener := callWithFallback(note, func(c *ga.Client) (*ga.CreateListenerOutput, error) {
		return c.CreateListener(ctx, &ga.CreateListenerInput{AcceleratorArn: accelerator, Protocol: gatypes.ProtocolTcp, PortRanges: ports(443)})
	}, api, other).Listener.ListenerArn
	group := callWithFallback(note, func(c *ga.Client) (*ga.CreateEndpointGroupOutput, error) {
		return c.CreateEndpointGroup(ctx, &ga.CreateEndpointGroupInput{ListenerArn: listener, EndpointGroupRegion: aws.String(RegionOf(r.Emulator))})
	}, api, other).EndpointGroup.EndpointGroupArn
	for _, step := range []func(*ga.Client) error{
		func(c *ga.Client) error { return errorOf(c.ListAccelerators(ctx, &ga.ListAcceleratorsInput{})) },
		func(c *ga.Client) error {
			return errorOf(c.ListTagsForResource(ctx, &ga.ListTagsForResourceInput{ResourceArn: accelerator}))
		},
		func(c *ga.Client) error {
			return errorOf(c.ListListeners(ctx, &ga.ListListenersInput{AcceleratorArn: accelerator}))
		},
		func(c *ga.Client) error {
			return errorOf(c.ListEndpointGroups(ctx, &ga.ListEndpointGroupsInput{ListenerArn: listener}))
		},
		func(c *ga.Client) error {
			return errorOf(c.AddEndpoints(ctx, &ga.AddEndpointsInput{EndpointGroupArn: group, EndpointConfigurations: []gatypes.EndpointConfiguration{{EndpointId: &endpoint}}}))
		},
		func(c *ga.Client) error {
			return errorOf(c.UpdateEndpointGroup(ctx, &ga.UpdateEndpointGroupInput{EndpointGroupArn: group, TrafficDialPercentage: aws.Float32(50)}))
		},
		func(c *ga.Client) error {
			return errorOf(c.RemoveEndpoints(ctx, &ga.RemoveEndpointsInput{EndpointGroupArn: group, EndpointIdentifiers: []gatypes.EndpointIdentifier{{EndpointId: &endpoint}}}))
		},
		func(c *ga.Client) error {
			return errorOf(c.UpdateListener(ctx, &ga.UpdateListenerInput{ListenerArn: listener, PortRanges: ports(8443)}))
		},
		func(c *ga.Client) error {
			return errorOf(c.TagResource(ctx, &ga.TagResourceInput{ResourceArn: accelerator, Tags: []gatypes.Tag{tag("team", "a")}}))
		},
		func(c *ga.Client) error {
			return errorOf(c.UntagResource(ctx, &ga.UntagResourceInput{ResourceArn: accelerator, TagKeys: []string{"team"}}))
		},
		func(c *ga.Client) error {
			return errorOf(c.UpdateAccelerator(ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: accelerator, Enabled: aws.Bool(false)}))
		},
		func(c *ga.Client) error {
			return errorOf(c.DeleteEndpointGroup(ctx, &ga.DeleteEndpointGroupInput{EndpointGroupArn: group}))
		},
		func(c *ga.Client) error {
			return errorOf(c.DeleteListener(ctx, &ga.DeleteListenerInput{ListenerArn: listener}))
		},
		func(c *ga.Client) error {
			time.Sleep(10 * time.Minute) // until the accelerator is disabled in all edge locations
			return errorOf(c.DeleteAccelerator(ctx, &ga.DeleteAcceleratorInput{AcceleratorArn: accelerator}))
		},
	} {
		callWithFallback(note, func(c *ga.Client) (struct{}, error) { return struct{}{}, step(c) }, api, other)
	}
	return denied
}

func errorOf[T any](_ T, err error) error { return err }

// callWithFallback makes a call with the first client. If note returns false for its error, it makes the call with the
// second client.
func callWithFallback[T any](note func(error) bool, make func(*ga.Client) (T, error), first, second *ga.Client) T {
	out, err := make(first)
	if note(err) {
		return out
	}
	if out, err = make(second); err != nil {
		panic(err)
	}
	return out
}

// runAcceleratorCallsWithPolicy creates, changes and deletes an accelerator with an IAM policy. It returns the error messages
// of denied calls and the number of uses of each permission.
func runAcceleratorCallsWithPolicy(t *testing.T, policy []byte) (denied []string, used map[authz.UsedPermission]int) {
	synctest.Test(t, func(t *testing.T) {
		r := New(t, Options{Policies: [][]byte{rights.Policy("aws"), policy}})
		denied, used = makeAcceleratorCalls(t, r), r.Emulator.Permissions()
	})
	return denied, used
}

// TestAcceleratorPolicyIsMinimal checks that the accelerator policy allows all calls that accelerators need, and that
// each permission in it is used.
func TestAcceleratorPolicyIsMinimal(t *testing.T) {
	t.Parallel()
	denied, used := runAcceleratorCallsWithPolicy(t, rights.AcceleratorPolicy("", ""))
	for _, d := range denied {
		t.Error(d)
	}
	for _, s := range rights.AcceleratorStatements {
		for _, a := range s.Actions {
			if used[authz.UsedPermission{Sid: s.Sid, Action: a.Name}] == 0 {
				t.Errorf("%s %s is not used by any of %v", s.Sid, a.Name, slices.Collect(maps.Keys(used)))
			}
		}
	}
}

// TestWithoutPermissionOfAccelerators checks for each permission of the accelerator policy that, without it, a call is
// denied with an error that names the permission.
func TestWithoutPermissionOfAccelerators(t *testing.T) {
	t.Parallel()
	for _, s := range rights.AcceleratorStatements {
		for _, a := range s.Actions {
			t.Run(s.Sid+"/"+a.Name, func(t *testing.T) {
				denied, _ := runAcceleratorCallsWithPolicy(t, rights.AcceleratorPolicy(s.Sid, a.Name))
				if !slices.ContainsFunc(denied, func(d string) bool { return strings.Contains(d, a.Name) }) {
					t.Errorf("denied are %q", denied)
				}
			})
		}
	}
}

// TestAcceleratorPolicyProtectsForeignAccelerators checks that the accelerator policy does not allow changes of an
// accelerator that lacks a tag of the controller, nor the creation of an accelerator without tags.
func TestAcceleratorPolicyProtectsForeignAccelerators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t, Options{Policies: [][]byte{rights.Policy("aws"), rights.AcceleratorPolicy("", "")}})
		cfg := AWSConfig(r.Emulator)
		cfg.Region, cfg.RetryMaxAttempts = store.AcceleratorRegion, 1
		made, err := ga.NewFromConfig(cfg).CreateAccelerator(t.Context(), &ga.CreateAcceleratorInput{Name: aws.String("theirs"), Tags: []gatypes.Tag{{Key: aws.String("elbv2.k8s.aws/cluster"), Value: aws.String("rig")}}})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Credentials = credentials.NewStaticCredentialsProvider(ControllerKey, "secret", "")
		api := ga.NewFromConfig(cfg)
		for what, err := range map[string]error{
			"disable":  errorOf(api.UpdateAccelerator(t.Context(), &ga.UpdateAcceleratorInput{AcceleratorArn: made.Accelerator.AcceleratorArn, Enabled: aws.Bool(false)})),
			"untag":    errorOf(api.UntagResource(t.Context(), &ga.UntagResourceInput{ResourceArn: made.Accelerator.AcceleratorArn, TagKeys: []string{"elbv2.k8s.aws/cluster"}})),
			"listen":   errorOf(api.CreateListener(t.Context(), &ga.CreateListenerInput{AcceleratorArn: made.Accelerator.AcceleratorArn, Protocol: gatypes.ProtocolTcp, PortRanges: []gatypes.PortRange{{FromPort: aws.Int32(1), ToPort: aws.Int32(1)}}})),
			"untagged": errorOf(api.CreateAccelerator(t.Context(), &ga.CreateAcceleratorInput{Name: aws.String("ours")})),
		} {
			var refused smithy.APIError
			if !errors.As(err, &refused) || refused.ErrorCode() != "AccessDeniedException" {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestControllerNeedsOnlyAcceleratorPolicy checks that the controller creates, changes and deletes an accelerator
// without a denied call if it has only the load balancer policy and the accelerator policy. It uses each permission of
// the accelerator policy.
func TestControllerNeedsOnlyAcceleratorPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{Policies: [][]byte{rights.Policy("aws"), rights.AcceleratorPolicy("", "")}})
		act := func(spec string) {
			r.Apply(accelerator("shop", "edge", spec))
			r.Settle(30 * time.Minute)
		}
		const endpoint = `{type: Ingress, name: web}`
		group := func(ports, more string) string {
			return `{protocol: TCP, portRanges: [` + ports + `], endpointGroups: [{` + more + `}]}`
		}
		const one, other = `{fromPort: 80, toPort: 80}`, `{fromPort: 80, toPort: 81}`
		act(`tags: {team: a}, listeners: [` + group(one, `endpoints: [`+endpoint+`]`) + `]`)
		act(`tags: {team: b}, listeners: [` + group(other, `trafficDialPercentage: 50, endpoints: [`+endpoint+`]`) + `]`)
		act(`name: renamed, listeners: [` + group(other, ``) + `]`)
		act(`name: renamed, listeners: [` + group(other, `endpoints: [`+endpoint+`]`) + `]`)
		r.Start() // the new process reads the existing accelerator
		act(`name: renamed`)
		r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge")
		r.Settle(time.Hour)
		if left := acceleratorState(r); len(left) > 0 {
			t.Error(left)
		}
		for denied := range r.Emulator.Denials() {
			t.Error(denied)
		}
		used := r.Emulator.Permissions()
		for _, s := range rights.AcceleratorStatements {
			for _, a := range s.Actions {
				if used[authz.UsedPermission{Sid: s.Sid, Action: a.Name}] == 0 {
					t.Errorf("%s %s is not used", s.Sid, a.Name)
				}
			}
		}
	})
}
