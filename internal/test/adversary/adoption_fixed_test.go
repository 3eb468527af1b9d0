package adversary

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// adoptionMember returns an Ingress of the attacker in an IngressGroup. It is older than the victims' Ingresses.
func adoptionMember(group, host, annotations string) string {
	return attackerIngressDoc("i0", "1999-01-01T00:00:00Z", "alb", annotationPrefix+"group.name: "+group+annotations, "", host, "/", "e0")
}

// TestAdoptionHistoriesThatOnceFailed runs short forms of the histories that found faults.
func TestAdoptionHistoriesThatOnceFailed(t *testing.T) {
	t.Parallel()
	const takeOver, again = "Gateway edge takes over: version 1", "Gateway edge takes over: version 2"
	forged := `apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: b0, namespace: evil, labels: {gateway.k8s.aws.alb/stack-namespace: pay, gateway.k8s.aws.alb/stack-name: edge, ingress.k8s.aws/stack: edge}, finalizers: [example.com/stay]}
spec: {targetGroupARN: $TGARN1, targetType: ip, serviceRef: {name: web, port: 80}}
`
	weighted := strings.Replace(attackerIngressDoc("i2", "2030-01-01T00:00:00Z", "alb", annotationPrefix+"group.name: edge, "+annotationPrefix+`actions.act: '{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"e0","servicePort":80,"weight":1},{"targetGroupARN":$TGARN0,"weight":99}]}}'`,
		"", "evil.com", "/", "act"), "number: 80", "name: use-annotation", 1)
	leftOver := strings.NewReplacer("$TGARN1", "$TGARN2", "name: web", "name: e0", ", finalizers: [example.com/stay]", "").Replace(forged)
	type evil struct {
		after string // start of the name of the victims' act before the move, "" for none
		move  adoptionMove
	}
	for name, c := range map[string]struct {
		tenancy tenancy
		moves   []evil
		change  func(h *adoptionHistory)
	}{
		// Requests were answered with 500, as if the victims' route were not permitted to refer to the Service of the
		// binding.
		"a binding with the labels of both stacks withdraws no backend": {tenancy: closedGroups, moves: []evil{{"", adoptionMove{documents: forged}}}},
		// The target group of the victims' Ingress was assigned to the attacker's route. No listener admits this route for
		// its host, so the rule was deleted.
		"a route of another namespace does not get what an Ingress forwards to": {tenancy: closedGroups, moves: []evil{{"", adoptionMove{documents: `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r0, namespace: evil, creationTimestamp: "1999-01-01T00:00:00Z"}
spec: {parentRefs: [{name: edge, namespace: pay}], hostnames: [evil.com], rules: [{backendRefs: [{name: web, namespace: pay, port: 80}]}]}
`}}}},
		// The rules of the Gateway did not show which namespace owned the host.
		"an older Ingress does not get a host when the load balancer is given back": {tenancy: isolatedGroups, moves: []evil{
			{again, adoptionMove{wait: time.Minute, documents: adoptionMember("edge", "post.example.com", ", fulcrum.dev/adopted-by: pay/edge"+consentMark)}},
		}},
		// The Gateway was not reconciled when the blocking Ingress was changed.
		"a take-over goes on when a member has left": {tenancy: sharedGroups, moves: []evil{
			{"", adoptionMove{documents: adoptionMember("edge", "evil.com", "")}},
			{takeOver, adoptionMove{wait: time.Minute, documents: adoptionMember("shared", "evil.com", "")}},
		}},
		"a take-over goes on when a member consents": {tenancy: sharedGroups, moves: []evil{
			{"", adoptionMove{documents: adoptionMember("edge", "evil.com", "")}},
			{takeOver, adoptionMove{wait: time.Minute, documents: adoptionMember("edge", "evil.com", ", fulcrum.dev/adopted-by: pay/edge"+consentMark)}},
		}},
		// The backend security group was not deleted with the last of the victims' load balancers, as if the
		// accelerator needed it.
		"an accelerator does not keep the backend security group": {tenancy: closedGroups, moves: []evil{{"", adoptionMove{documents: `apiVersion: aga.k8s.aws/v1beta1
kind: GlobalAccelerator
metadata: {name: a0, namespace: evil}
spec: {listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [{type: Service, name: l0}]}]}]}
`}}}, change: func(h *adoptionHistory) { h.deletesAttackerFirst = false }},
		// A target group that the victims did not need any more had only the attacker's binding, and was assigned to
		// the attacker.
		"a binding does not inherit a target group that a rule still names": {tenancy: sharedGroups, moves: []evil{
			{"", adoptionMove{documents: attackerBackendDoc("e0")}},
			{"the victims edit shared: own", adoptionMove{wait: 9 * time.Second, documents: weighted}},
			{"Gateway mail gives back", adoptionMove{wait: 17 * time.Second, documents: leftOver}},
		}, change: func(h *adoptionHistory) {
			h.startsAsDryRun, h.returnWays = false, [4]returnWay{returnByAnnotation, returnByDeletion, returnByAnnotation, returnByDeletion}
		}},
		// A dry run recorded its waits as completed. Later, requests went to a target group without targets. This happens
		// without moves of the attacker.
		"a dry run has waited for nothing": {tenancy: closedGroups},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := adoptionHistory{tenancy: c.tenancy, startsAsDryRun: true, deletesAttackerFirst: true, returnWays: [4]returnWay{returnByDryRun, returnByDryRun, returnByDeletion, returnByDryRun}}
			if c.change != nil {
				c.change(&h)
			}
			acts := adoptionActs(h.returnWays)
			h.skipsWaitAfterAct = make([]bool, len(acts))
			for _, e := range c.moves {
				e.move.actIndex = slices.IndexFunc(acts, func(a adoptionAct) bool { return strings.HasPrefix(a.name, e.after) })
				if e.after == "" {
					e.move.actIndex = -1
				} else if e.move.actIndex < 0 {
					t.Fatalf("no act has the name %q", e.after)
				}
				h.moves = append(h.moves, e.move)
			}
			if failures := runAdoptionHistory(t, h); len(failures) > 0 {
				t.Errorf("%s\n\n%v", strings.Join(failures, "\n"), h)
			}
		})
	}
}
