package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// lateSource is a source whose cache does not have ListenerRuleConfigurations yet.
type lateSource struct{ cluster.Source }

// Get implements cluster.Source.
func (s lateSource) Get(ref cluster.Ref) (cluster.Object, error) {
	if ref.Kind == cluster.KindListenerRuleConfiguration {
		return nil, nil
	}
	return s.Source.Get(ref)
}

// Find implements cluster.ReferenceFinder.
func (s lateSource) Find(ref cluster.Ref) (cluster.Object, error) { return s.Source.Get(ref) }

// TestRuleConfigurationMissingInTheCacheIsLookedUp checks that a rule is built from a ListenerRuleConfiguration that was
// created at the same time as its route, and whose event arrives later.
func TestRuleConfigurationMissingInTheCacheIsLookedUp(t *testing.T) {
	docs := strings.Replace(repeatedBackends, "  - backendRefs:\n", `  - filters: [{type: ExtensionRef, extensionRef: {group: gateway.k8s.aws, kind: ListenerRuleConfiguration, name: new}}]
    backendRefs:
`, 1) + `---
apiVersion: gateway.k8s.aws/v1
kind: ListenerRuleConfiguration
metadata: {namespace: a, name: new}
spec: {actions: [{type: forward, forwardConfig: {targetGroupStickinessConfig: {enabled: true}}}]}
`
	f := gateway.New(model.ALBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig"}})
	v := cluster.NewView(lateSource{enginetest.LoadObjects(t, docs)})
	stack, found := f.Translate(v, model.StackID{Kind: model.ALBGateway, Namespace: "a", Name: "edge"}, nil)
	if forward, ok := stack.LoadBalancer.Listeners[0].Rules[0].Actions[0].(model.Forward); !ok || forward.Stickiness == nil || v.Err() != nil {
		t.Errorf("actions %+v, findings %v, error %v", stack.LoadBalancer.Listeners[0].Rules[0].Actions, found, v.Err())
	}
}

// TestRepeatedEntriesOfRuleConfigurationsAreLimited checks that a rule is held, and repeats nothing of its
// ListenerRuleConfiguration, if this has more tags, address ranges or token claims than the limit.
func TestRepeatedEntriesOfRuleConfigurationsAreLimited(t *testing.T) {
	list := func(n int, item string) string { return strings.Repeat(item+", ", n-1) + item }
	const condition = "conditions: [{field: source-ip, sourceIPConfig: {values: [%s]}}]"
	for name, configuration := range map[string]func(n int) string{
		"tags": func(n int) string {
			var out strings.Builder
			for i := range n {
				fmt.Fprintf(&out, "k%d: v, ", i)
			}
			return "tags: {" + out.String() + "}"
		},
		"ranges":         func(n int) string { return fmt.Sprintf(condition, list(n, "10.0.0.0/8")) },
		"ranges in text": func(n int) string { return fmt.Sprintf(condition, `"`+list(n, "10.0.0.0/8")+`"`) },
		"claims": func(n int) string {
			return "actions: [{type: jwt-validation, jwtValidationConfig: {issuer: i, jwksEndpoint: j, additionalClaims: [" + list(n, "{format: f, name: c, values: [v]}") + "]}}]"
		},
	} {
		for n, want := range map[int]bool{settings.MaxRepeatedEntries: false, settings.MaxRepeatedEntries + 1: true} {
			docs := strings.Replace(repeatedBackends, "  - backendRefs:\n", `  - filters: [{type: ExtensionRef, extensionRef: {group: gateway.k8s.aws, kind: ListenerRuleConfiguration, name: large}}]
    backendRefs:
`, 1) + `---
apiVersion: gateway.k8s.aws/v1
kind: ListenerRuleConfiguration
metadata: {namespace: a, name: large}
spec: {` + configuration(n) + `}
`
			f := gateway.New(model.ALBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig"}})
			stack, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, docs), model.StackID{Kind: model.ALBGateway, Namespace: "a", Name: "edge"}, nil)
			got := slices.ContainsFunc(found, func(f finding.Finding) bool {
				return f.Reason == finding.RouteValueUnsupported && f.Blocks == finding.BlocksRule && strings.Contains(f.Message, "exceed the limit")
			})
			if r := stack.LoadBalancer.Listeners[0].Rules[0]; got != want || want && (r.Held == 0 || len(r.Tags) > 0 || len(r.Conditions) > 1) {
				t.Errorf("%s, %d entries: reported is %t, the rule %+v", name, n, got, r)
			}
		}
	}
}
