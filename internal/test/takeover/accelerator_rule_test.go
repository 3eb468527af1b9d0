package takeover

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// referenceAccelerator has the properties of an accelerator that aws-load-balancer-controller sets and compares.
type referenceAccelerator struct {
	Name, Type string
	Tags       map[string]string
	Listeners  map[string]referenceListener // by listenerKey
}

type referenceListener struct {
	Affinity       string
	EndpointGroups map[string]referenceEndpointGroup // by region
}

type referenceEndpointGroup struct {
	TrafficDial float32
	Overrides   map[int32]int32
	Endpoints   map[string]referenceEndpoint // by endpoint ID, which is an ARN
}

type referenceEndpoint struct {
	Weight            int32
	PreservesClientIP bool
}

// removedNameCharacters matches the characters that generatedAcceleratorName removes from namespaces and object names.
var removedNameCharacters = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// generatedAcceleratorName returns the name that aws-load-balancer-controller gives to an accelerator if the name is not
// set in its object. kind is the IP address type.
func generatedAcceleratorName(namespace, name, kind string) string {
	part := func(s string) string { s = removedNameCharacters.ReplaceAllString(s, ""); return s[:min(16, len(s))] }
	sum := sha256.Sum256([]byte(harness.ClusterName + harness.Region + namespace + name + kind))
	return fmt.Sprintf("k8s_%s_%s_%s", part(namespace), part(name), hex.EncodeToString(sum[:])[:25])
}

// listenerKey returns the protocol and the sorted port ranges as text.
func listenerKey(protocol string, ranges []types.PortRange) string {
	var list []string
	for _, r := range ranges {
		list = append(list, fmt.Sprintf("%05d-%05d", *r.FromPort, *r.ToPort))
	}
	slices.Sort(list)
	return fmt.Sprint(protocol, list)
}

func rangesOf(l aga.Listener) (out []types.PortRange) {
	for _, r := range l.PortRanges {
		out = append(out, types.PortRange{FromPort: aws.Int32(r.FromPort), ToPort: aws.Int32(r.ToPort)})
	}
	return out
}

// referenceAcceleratorOf returns the accelerator that the documentation of aws-load-balancer-controller defines for o. All
// listeners of o must set their protocol and ports. defaults are the default tags of the controller. arns has the ARNs of
// endpoints by "TYPE NAMESPACE/NAME"; the result lacks endpoints whose ARN is not there.
func referenceAcceleratorOf(o *aga.GlobalAccelerator, defaults map[string]string, arns map[string]string) referenceAccelerator {
	kind := string(o.Spec.IPAddressType)
	out := referenceAccelerator{Name: o.Spec.Name, Type: kind, Tags: maps.Clone(o.Spec.Tags), Listeners: map[string]referenceListener{}}
	if out.Name == "" {
		out.Name = generatedAcceleratorName(o.Namespace, o.Name, kind)
	}
	if out.Tags == nil {
		out.Tags = map[string]string{}
	}
	maps.Copy(out.Tags, defaults)
	maps.Copy(out.Tags, map[string]string{
		"elbv2.k8s.aws/cluster": harness.ClusterName, "elbv2.k8s.aws/cluster-region": harness.Region,
		"aga.k8s.aws/stack": o.Namespace + "/" + o.Name, "aga.k8s.aws/resource": "GlobalAccelerator",
	})
	for _, l := range o.Spec.Listeners {
		made := referenceListener{Affinity: string(l.ClientAffinity), EndpointGroups: map[string]referenceEndpointGroup{}}
		for _, g := range l.EndpointGroups {
			region := g.Region
			if region == "" {
				region = harness.Region
			}
			group := referenceEndpointGroup{TrafficDial: float32(*g.TrafficDialPercentage), Overrides: map[int32]int32{}, Endpoints: map[string]referenceEndpoint{}}
			for _, p := range g.PortOverrides {
				group.Overrides[p.ListenerPort] = p.EndpointPort
			}
			for _, e := range g.Endpoints {
				id := e.EndpointID
				if e.Type != aga.EndpointTypeEndpointID {
					namespace := e.Namespace
					if namespace == "" {
						namespace = o.Namespace
					}
					id = arns[fmt.Sprintf("%s %s/%s", e.Type, namespace, e.Name)]
				}
				if id != "" {
					group.Endpoints[id] = referenceEndpoint{*e.Weight, *e.ClientIPPreservationEnabled}
				}
			}
			made.EndpointGroups[region] = group
		}
		out.Listeners[listenerKey(string(l.Protocol), rangesOf(l))] = made
	}
	return out
}

// observedAccelerators returns the accelerators in AWS and their ARNs, by the value of the stack tag. A disabled accelerator
// gets the additional tag "disabled" in the result.
func observedAccelerators(t *testing.T, c *ga.Client) (out map[string]referenceAccelerator, arns map[string]string) {
	t.Helper()
	out, arns = map[string]referenceAccelerator{}, map[string]string{}
	all := requireResult(c.ListAccelerators(t.Context(), &ga.ListAcceleratorsInput{MaxResults: aws.Int32(100)}))(t)
	for _, a := range all.Accelerators {
		r := referenceAccelerator{Name: *a.Name, Type: string(a.IpAddressType), Tags: map[string]string{}, Listeners: map[string]referenceListener{}}
		for _, tag := range requireResult(c.ListTagsForResource(t.Context(), &ga.ListTagsForResourceInput{ResourceArn: a.AcceleratorArn}))(t).Tags {
			r.Tags[*tag.Key] = *tag.Value
		}
		if !*a.Enabled {
			r.Tags["disabled"] = "true"
		}
		for _, l := range requireResult(c.ListListeners(t.Context(), &ga.ListListenersInput{AcceleratorArn: a.AcceleratorArn, MaxResults: aws.Int32(100)}))(t).Listeners {
			made := referenceListener{Affinity: string(l.ClientAffinity), EndpointGroups: map[string]referenceEndpointGroup{}}
			for _, g := range requireResult(c.ListEndpointGroups(t.Context(), &ga.ListEndpointGroupsInput{ListenerArn: l.ListenerArn, MaxResults: aws.Int32(100)}))(t).EndpointGroups {
				group := referenceEndpointGroup{TrafficDial: *g.TrafficDialPercentage, Overrides: map[int32]int32{}, Endpoints: map[string]referenceEndpoint{}}
				for _, p := range g.PortOverrides {
					group.Overrides[*p.ListenerPort] = *p.EndpointPort
				}
				for _, e := range g.EndpointDescriptions {
					group.Endpoints[*e.EndpointId] = referenceEndpoint{*e.Weight, *e.ClientIPPreservationEnabled}
				}
				made.EndpointGroups[*g.EndpointGroupRegion] = group
			}
			r.Listeners[listenerKey(string(l.Protocol), l.PortRanges)] = made
		}
		stack := r.Tags["aga.k8s.aws/stack"]
		out[stack], arns[stack] = r, *a.AcceleratorArn
	}
	return out, arns
}

// requireResult takes the results of a call. It returns a function that returns v, or fails the test if err is not nil.
func requireResult[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
