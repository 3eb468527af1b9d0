package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// targetGroupsOfBackend returns the resource IDs and protocols of the target groups of Service "other" in namespace "shop".
func targetGroupsOfBackend(r *Harness) (out []string) {
	for _, line := range taggedLines(r, model.Service) {
		if rest, ok := strings.CutPrefix(line, `target-group ["`); ok && strings.HasPrefix(rest, "shop/other:") {
			parts := strings.Split(rest, ",")
			out = append(out, strings.Trim(parts[0], `"`)+" "+strings.Trim(parts[3], `"`))
		}
	}
	return out
}

// TestSharedTargetGroupStays checks a TCP or UDP listener that forwards to the TCP_UDP target group of a weighted backend, as AWS
// Load Balancer Controller creates it for a backend of this port and of a TCP_UDP port. Nothing changes while both ports use
// the backend, or while it is not known whether the TCP_UDP port uses it. Later, the port gets a target group of its protocol.
func TestSharedTargetGroupStays(t *testing.T) {
	t.Parallel()
	const (
		tcp       = "{name: w, port: 80, targetPort: 8080}"
		udp       = "{name: w, port: 80, targetPort: 8080, protocol: UDP}"
		dns       = "{name: t, port: 53, targetPort: 8080}, {name: u, port: 53, targetPort: 8080, protocol: UDP}"
		toOther   = `{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{"serviceName":"other","servicePort":81,"weight":1}]}}`
		merge     = "aws-load-balancer-enable-tcp-udp-listener"
		actionDNS = "actions.TCP_UDP-53"
	)
	for name, c := range map[string]struct{ ports, protocol string }{
		"TCP_UDP first": {dns + ", " + tcp, "TCP"},
		"TCP first":     {tcp + ", " + dns, "TCP"},
		"UDP first":     {udp + ", " + dns, "UDP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				action80 := "actions." + c.protocol + "-80"
				r := shopWith(t, Options{})
				r.Apply(readyPods("mail", podAddresses[:3]...), readyPods("other", podAddresses[3:5]...),
					strings.Replace(nlbService("other", "", "{name: a, port: 81, targetPort: 8080}"), "type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb", "type: ClusterIP", 1),
					nlbService("mail", serviceAnnotations(merge, "true", actionDNS, toOther), c.ports))
				r.advanceTime(10 * time.Minute)
				r.Kill()
				forwardToBackend(r, 80)
				r.Apply(nlbService("mail", serviceAnnotations(merge, "true", actionDNS, toOther, action80, toOther), c.ports))
				before := taggedLines(r, model.Service)
				r.Emulator.Calls().Reset()
				r.Start()
				r.advanceTime(11 * time.Hour)
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("the takeover makes %d changes: %v\n%s", n, r.Emulator.Calls().Counts(), cmp.Diff(before, taggedLines(r, model.Service)))
				}
				r.Apply(nlbService("mail", serviceAnnotations(merge, "true", actionDNS, "{", action80, toOther), c.ports))
				r.advanceTime(20 * time.Minute)
				if d := cmp.Diff(before, taggedLines(r, model.Service)); d != "" {
					t.Errorf("an action of one port that is not valid changes AWS: %s", d)
				}
				r.Apply(nlbService("mail", serviceAnnotations(merge, "true", action80, toOther), c.ports))
				r.advanceTime(40 * time.Minute)
				if got, want := targetGroupsOfBackend(r), []string{"shop/other:81 " + c.protocol}; !slices.Equal(got, want) {
					t.Errorf("the backend has the target groups %q, want %q", got, want)
				}
			})
		})
	}
}

// forwardToBackend makes the listener of a port, which forwards to one target group, also forward to the target group of
// Service "other".
func forwardToBackend(r *Harness, port int32) {
	r.T.Helper()
	api := elb.NewFromConfig(AWSConfig(r.Emulator))
	all, err := api.DescribeTargetGroups(r.T.Context(), &elb.DescribeTargetGroupsInput{})
	if err != nil {
		r.T.Fatal(err)
	}
	backend := all.TargetGroups[slices.IndexFunc(all.TargetGroups, func(g elbtypes.TargetGroup) bool { return strings.Contains(*g.TargetGroupName, "-other-") })]
	out, err := api.DescribeListeners(r.T.Context(), &elb.DescribeListenersInput{LoadBalancerArn: &backend.LoadBalancerArns[0]})
	if err != nil {
		r.T.Fatal(err)
	}
	l := out.Listeners[slices.IndexFunc(out.Listeners, func(l elbtypes.Listener) bool { return *l.Port == port })]
	if _, err := api.ModifyListener(r.T.Context(), &elb.ModifyListenerInput{ListenerArn: l.ListenerArn, DefaultActions: []elbtypes.Action{{
		Type: elbtypes.ActionTypeEnumForward,
		ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: []elbtypes.TargetGroupTuple{
			{TargetGroupArn: l.DefaultActions[0].ForwardConfig.TargetGroups[0].TargetGroupArn, Weight: new(int32(1))},
			{TargetGroupArn: backend.TargetGroupArn, Weight: new(int32(1))},
		}},
	}}}); err != nil {
		r.T.Fatal(err)
	}
}
