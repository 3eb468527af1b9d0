package gateway_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// TestSourcesOfTargetsOfNetworkLoadBalancers checks from which sources the rules of nodes and pods admit traffic, for
// configurations of a Gateway and for security groups of its existing network load balancer. AWS can neither add the first
// security group of a load balancer nor remove the last one, so these rules must not depend on such an edit.
func TestSourcesOfTargetsOfNetworkLoadBalancers(t *testing.T) {
	backend, all := model.Peer{BackendSecurityGroup: true}, []model.Peer{{VPC: true}}
	for name, c := range map[string]struct {
		spec      string
		preserves string // value of the target group attribute; "" if it is not set
		live      *observed.LoadBalancer
		want      []model.Peer
	}{
		"new":                                {spec: "disableSecurityGroup: true", want: all},
		"that preserves addresses":           {spec: "disableSecurityGroup: true", preserves: "True", want: all},
		"that does not preserve addresses":   {spec: "disableSecurityGroup: true", preserves: "false", want: []model.Peer{{Subnets: true}}},
		"with an invalid attribute":          {spec: "disableSecurityGroup: true", preserves: "yes", want: []model.Peer{{Subnets: true}}},
		"with prefix lists":                  {spec: "disableSecurityGroup: true, securityGroupPrefixes: [pl-1]", want: all},
		"with ranges":                        {spec: "disableSecurityGroup: true, securityGroupPrefixes: [pl-1], sourceRanges: [10.1.0.0/16]", want: []model.Peer{{CIDR: "10.1.0.0/16"}}},
		"that does not want groups":          {spec: "disableSecurityGroup: true, manageBackendSecurityGroupRules: false", want: all},
		"that asks for groups later":         {spec: "disableSecurityGroup: false", live: &observed.LoadBalancer{}, want: all},
		"that names groups later":            {spec: "securityGroups: [sg-1], manageBackendSecurityGroupRules: false", live: &observed.LoadBalancer{}, want: all},
		"that gives up groups later":         {spec: "disableSecurityGroup: true", live: &observed.LoadBalancer{SecurityGroups: []string{"sg-1"}}, want: []model.Peer{backend}},
		"that gives up its own groups later": {spec: "disableSecurityGroup: true, securityGroups: [sg-1], manageBackendSecurityGroupRules: true", live: &observed.LoadBalancer{SecurityGroups: []string{"sg-1"}}, want: []model.Peer{backend}},
		"without managed rules":              {spec: "securityGroups: [sg-1]", live: &observed.LoadBalancer{SecurityGroups: []string{"sg-1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			docs := strings.Replace(repeatedBackends, "{gatewayClassName: nlb,", "{gatewayClassName: nlb, infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: lb}},", 1) + `---
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: a, name: lb}
spec: {` + c.spec + `}
`
			if c.preserves != "" {
				docs += `---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: a, name: web}
spec: {targetReference: {name: web}, defaultConfiguration: {targetGroupAttributes: [{key: preserve_client_ip.enabled, value: "` + c.preserves + `"}]}}
`
			}
			var live *observed.Stack
			if c.live != nil {
				c.live.ARN, c.live.ResourceID, c.live.Type, c.live.Scheme = "arn", model.LoadBalancerID, "network", model.Internal
				live = &observed.Stack{LoadBalancers: []observed.LoadBalancer{*c.live}}
			}
			f := gateway.New(model.NLBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig"}})
			stack, _ := enginetest.Translate(t, f, enginetest.LoadObjects(t, docs), model.StackID{Kind: model.NLBGateway, Namespace: "a", Name: "net"}, live)
			var got []model.Peer
			for _, r := range stack.TargetGroups[0].Binding.Networking[:min(1, len(stack.TargetGroups[0].Binding.Networking))] {
				got = r.From
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}
