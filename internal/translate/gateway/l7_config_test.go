package gateway_test

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
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
