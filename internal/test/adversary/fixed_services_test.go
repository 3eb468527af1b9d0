package adversary

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/naming"
	services "github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// attackerServiceWithNLB returns a Service of the attacker with an NLB and pods.
func attackerServiceWithNLB(finalizer string, pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, "    %s%s: '%s'\n", serviceAnnotationPrefix, pairs[i], pairs[i+1])
	}
	docs := strings.Replace(attackerBackends, `metadata: {name: app, namespace: evil}
spec: {type: NodePort,`, `metadata:
  name: app
  namespace: evil
  finalizers: [`+finalizer+`]
  annotations:
    `+serviceAnnotationPrefix+`aws-load-balancer-nlb-target-type: ip
`+b.String()+`spec: {type: LoadBalancer, loadBalancerClass: `+services.DefaultClass+`,`, 1)
	return docs
}

// TestAttacksByServices checks conflicts of Services about names, security groups, addresses, target groups and quotas. The
// owner keeps the resource. For most conflicts, the other Service must get a warning.
func TestAttacksByServices(t *testing.T) {
	t.Parallel()
	const internetFacing = "aws-load-balancer-scheme"
	for name, c := range map[string]struct {
		docs     string
		reported string // in an event on the attacker's Service; empty if none is required
		quota    string
	}{
		"name":            {docs: attackerServiceWithNLB("", "aws-load-balancer-name", "$MAILNAME"), reported: "NameTaken"},
		"elastic address": {docs: attackerServiceWithNLB("", internetFacing, "internet-facing", "aws-load-balancer-subnets", "$PUBLIC", "aws-load-balancer-eip-allocations", "$EIPS"), reported: "are not available for use"},
		"security group":  {docs: attackerServiceWithNLB("", "aws-load-balancer-security-groups", "$MAILSG", "aws-load-balancer-manage-backend-security-group-rules", "true")},
		"target group by ARN": {docs: attackerServiceWithNLB("", "actions.TCP-80", `{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{"targetGroupARN":"$TGARN0","weight":1}]}}`),
			reported: "TargetGroupNotOwned"},
		"finalizer":    {docs: attackerServiceWithNLB(naming.ServiceFinalizer)},
		"private link": {docs: attackerServiceWithNLB("", "aws-load-balancer-security-groups", "$MAILSG", "aws-load-balancer-inbound-sg-rules-on-private-link-traffic", "off")},
		"quota":        {docs: attackerServiceWithNLB(""), quota: "network-load-balancers", reported: "QuotaReached"},
	} {
		runCase(t, name, setup{access: shutOut, scenario: 0}, func(w *testCluster) {
			if c.quota != "" {
				w.setQuota(c.quota, 1)
			}
			w.attackWith(c.docs)
			w.advanceAndCompare(longRunTime)
			for _, a := range w.scenarioActs() {
				w.perform(a)
			}
			w.advanceAndCompare(longRunTime)
			events := fmt.Sprint(w.log.warningsAbout("Service evil/app"))
			w.expectTrue(c.reported == "" || strings.Contains(events, c.reported), "want %s, got %s", c.reported, events)
			w.deleteAttackerObjects()
			w.advanceAndCompare(maxCleanupTime)
			w.checkRemainingResources(w.comparison.baseline, false)
		})
	}
}
