package planner_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// heldStack returns a stack in which many rules and settings are held. heldObservedState returns its observed state.
func heldStack() model.Stack {
	rule := func(path string, held model.Held) model.Rule {
		return model.Rule{
			Conditions: []model.Condition{model.PathPattern{Values: []string{path}}}, Held: held, Member: testMember,
			Actions: []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: "g1"}}}}},
		}
	}
	return model.Stack{
		ID: testStackID, Members: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true}},
		LoadBalancer: &model.LoadBalancer{
			Name: "lb", Scheme: model.Internal, AddressType: model.IPv4, Subnets: model.SubnetsDiscovered{},
			SecurityGroups: model.SecurityGroupsManaged{Backend: true, Group: model.SecurityGroup{
				Name: "sg", Ingress: []model.IngressRule{{Protocol: "tcp", From: 80, To: 80, CIDR: "0.0.0.0/0"}},
			}},
			Listeners: []model.Listener{
				{Port: 80, Default: []model.Action{plan.NotFoundResponse}, Members: []finding.Ref{testMember}, Rules: []model.Rule{rule("/a", 0), rule("/b", model.HeldInvalid), rule("/c", model.HeldInvalid)}},
				{Port: 443, Default: []model.Action{plan.NotFoundResponse}, Members: []finding.Ref{testMember}, TLS: &model.TLS{
					Policy: "new", Certificates: []model.CertChoice{model.CertARNs{Member: testMember, ARNs: []string{"arn:cert"}}},
					MutualAuth: &model.MutualAuth{Mode: "verify", TrustStore: "gone"},
				}},
			},
		},
		FrontendNLB:          &model.LoadBalancer{},
		Held:                 model.HeldParts{Frontend: true},
		TargetGroups:         []model.TargetGroup{{ID: "g1", Name: "g1", Type: model.IPTargets, Port: 80, Protocol: "HTTP"}},
		BackendSecurityGroup: model.BackendSecurityGroupUse{Needed: true},
	}
}

func heldObservedState() observed.Stack {
	forward := func(arn string) []model.Action {
		return []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: arn}}}}}
	}
	have := observed.Stack{Facts: testFacts()}
	have.Facts.TrustStores = map[string]string{"gone": ""}
	have.SecurityGroups = []observed.SecurityGroup{{ID: "sg-1", ResourceID: model.ManagedSecurityGroupID, Ingress: []model.IngressRule{
		{Protocol: "tcp", From: 22, To: 22, CIDR: "10.0.0.0/8"},
	}}}
	have.TargetGroups = []observed.TargetGroup{
		{ARN: "arn:g1", ResourceID: "g1", Name: "g1", Type: model.IPTargets, Protocol: "HTTP"},
		{ARN: "arn:old", ResourceID: "old", Name: "old", Type: model.IPTargets, Protocol: "HTTP"},
	}
	have.LoadBalancers = []observed.LoadBalancer{
		{ARN: "arn:lb", ResourceID: model.LoadBalancerID, Type: model.Application.String(), Scheme: model.Internal, Subnets: []string{"subnet-a"}, SecurityGroups: []string{"sg-1"}, Listeners: []observed.Listener{
			{ARN: "l80", Port: 80, Protocol: "HTTP", Default: []model.Action{plan.NotFoundResponse}, Rules: []observed.Rule{
				{ARN: "r1", Priority: 1, Conditions: []model.Condition{model.PathPattern{Values: []string{"/b"}}}, Actions: forward("arn:old")},
			}},
			{ARN: "l443", Port: 443, Protocol: "HTTPS", Policy: "old", Certificate: "arn:cert", Certificates: []string{"arn:cert"}, Default: forward("arn:g1"), Rules: []observed.Rule{
				{ARN: "r2", Priority: 7, Conditions: []model.Condition{model.PathPattern{Values: []string{"/live"}}}, Actions: forward("arn:g1"), Tags: map[string]string{"team": "a", "ingress.k8s.aws/stack": "shop"}},
			}},
		}},
		{ARN: "arn:nlb", ResourceID: model.FrontendNLBID, Name: "nlb", Type: model.Network.String(), Scheme: model.Internal, Subnets: []string{"subnet-b"}, SecurityGroups: []string{"sg-1", "sg-2"}, Listeners: []observed.Listener{
			{ARN: "n443", Port: 443, Protocol: "TCP", Default: forward("arn:front")},
		}},
	}
	return have
}

func TestDocumentHasHeldPartsAsTheyAreInAWS(t *testing.T) {
	var doc struct {
		Resources map[document.ResourceType]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(planner.Describe(heldStack(), heldObservedState(), testOptions, plan.Memory{}).JSON()), &doc); err != nil {
		t.Fatal(err)
	}
	short := strings.NewReplacer(`{"$ref":"#/resources/AWS::ElasticLoadBalancingV2::`, `{"`, `{"$ref":"#/resources/AWS::EC2::`, `{"`)
	for _, c := range []struct {
		typ      document.ResourceType
		id, want string
	}{
		{document.TypeRule, "80:1", `{"spec":{"listenerARN":{"Listener/80/status/listenerARN"},"priority":1,"actions":[{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":{"TargetGroup/g1/status/targetGroupARN"}}]}}],"conditions":[{"field":"path-pattern","pathPatternConfig":{"values":["/a"]}}]}}`},
		{document.TypeRule, "80:2", `{"spec":{"listenerARN":{"Listener/80/status/listenerARN"},"priority":2,"actions":[{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":"arn:old"}]}}],"conditions":[{"field":"path-pattern","pathPatternConfig":{"values":["/b"]}}]}}`},
		{document.TypeRule, "80:3", `{"spec":{"listenerARN":{"Listener/80/status/listenerARN"},"priority":3,"actions":[{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","messageBody":"Rule is held because its configuration is not valid","statusCode":"503"}}],"conditions":[{"field":"path-pattern","pathPatternConfig":{"values":["/c"]}}]}}`},
		{document.TypeListener, "443", `{"spec":{"loadBalancerARN":{"LoadBalancer/LoadBalancer/status/loadBalancerARN"},"port":443,"protocol":"HTTPS","defaultActions":[{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":{"TargetGroup/g1/status/targetGroupARN"}}]}}],"certificates":[{"certificateARN":"arn:cert"}],"sslPolicy":"old"}}`},
		{document.TypeRule, "443:7", `{"spec":{"listenerARN":{"Listener/443/status/listenerARN"},"priority":7,"actions":[{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":{"TargetGroup/g1/status/targetGroupARN"}}]}}],"conditions":[{"field":"path-pattern","pathPatternConfig":{"values":["/live"]}}],"tags":{"team":"a"}}}`},
		{document.TypeSecurityGroup, model.ManagedSecurityGroupID, `{"spec":{"groupName":"sg","description":"","ingress":[{"ipProtocol":"tcp","fromPort":80,"toPort":80,"ipRanges":[{"cidrIP":"0.0.0.0/0"}]}]}}`},
		{document.TypeLoadBalancer, model.FrontendNLBID, `{"spec":{"name":"nlb","type":"network","scheme":"internal","ipAddressType":"","subnetMapping":[{"subnetID":"subnet-b"}],"securityGroups":[{"SecurityGroup/ManagedLBSecurityGroup/status/groupID"},"sg-2"]}}`},
		{document.TypeListener, "FrontendNlb-ls-TCP-443", `{"spec":{"loadBalancerARN":{"LoadBalancer/FrontendNlb/status/loadBalancerARN"},"port":443,"protocol":"TCP","defaultActions":[{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":"arn:front"}]}}]}}`},
		{document.TypeALBTargets, string(document.TypeALBTargets), `{"TargetGroups":{}}`},
		{document.TypeTargetGroup, "old", ``},
	} {
		if diff := cmp.Diff(c.want, short.Replace(string(doc.Resources[c.typ][c.id]))); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.typ, c.id, diff)
		}
	}
}

func TestDescribeReturnsNoResourcesIfNothingIsCreated(t *testing.T) {
	held, empty, homeless, strange := heldStack(), heldStack(), heldStack(), heldStack()
	held.Held.AllResources = true
	empty.LoadBalancer, empty.TargetGroups = nil, nil
	homeless.LoadBalancer.Subnets = model.SubnetsNamed{Refs: []string{"gone"}}
	strange.LoadBalancer.AddOns.WebACL = &model.WebACL{Name: "gone"}
	for name, c := range map[string]struct {
		want model.Stack
		have observed.Stack
		text string
	}{
		"held":               {held, heldObservedState(), ""},
		"nothing is wanted":  {empty, heldObservedState(), `{"id":"shop","resources":{}}`},
		"there is no subnet": {homeless, observed.Stack{Facts: testFacts()}, ""},
		"a fact is missing":  {strange, heldObservedState(), ""},
	} {
		text := ""
		if d := planner.Describe(c.want, c.have, testOptions, plan.Memory{}); d != nil {
			text = d.JSON()
		}
		if diff := cmp.Diff(c.text, text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDocumentNamesBackendSecurityGroupUntilItExists(t *testing.T) {
	want, have := heldStack(), heldObservedState()
	if text := planner.Describe(want, have, testOptions, plan.Memory{}).JSON(); !strings.Contains(text, `status/groupID"},"k8s-traffic-rig-`) {
		t.Error(text)
	}
	have.Facts.BackendSecurityGroup = &observed.SecurityGroup{ID: "sg-backend"}
	if text := planner.Describe(want, have, testOptions, plan.Memory{}).JSON(); !strings.Contains(text, `status/groupID"},"sg-backend"]`) {
		t.Error(text)
	}
	want.BackendSecurityGroup.Given = "sg-given"
	if text := planner.Describe(want, have, testOptions, plan.Memory{}).JSON(); !strings.Contains(text, `status/groupID"},"sg-given"]`) {
		t.Error(text)
	}
}

// TestBindingInDocumentHasTheSpecOfTheObject checks that the spec of a binding in the document is the spec of the object
// that the plan creates, with references in place of IDs.
func TestBindingInDocumentHasTheSpecOfTheObject(t *testing.T) {
	want := heldStack()
	want.TargetGroups[0].AddressType = model.IPv4
	want.TargetGroups[0].Binding = &model.Binding{
		Namespace: "shop", Name: "g1", Service: "web", MultiCluster: true, Managed: true,
		Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "b"}, // of spec.infrastructure of a Gateway
		Networking: []model.BindingRule{{From: []model.Peer{{BackendSecurityGroup: true}, {ManagedSecurityGroup: true}, {CIDR: "10.0.0.0/8"}}, Ports: []model.PeerPort{{Protocol: "TCP"}}}},
	}
	data, err := json.Marshal(planner.Describe(want, heldObservedState(), testOptions, plan.Memory{}).Resources[document.TypeTargetGroupBinding]["g1"])
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(`{"$ref":"#/resources/AWS::ElasticLoadBalancingV2::TargetGroup/g1/status/targetGroupARN"}`, `"arn"`,
		`{"$ref":"#/resources/AWS::EC2::SecurityGroup/ManagedLBSecurityGroup/status/groupID"}`, `"sg"`).Replace(string(data))
	var got struct {
		Spec struct{ Template v1beta1.TargetGroupBinding }
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	spec := got.Spec.Template.Spec
	if spec.TargetGroupARN != "arn" || len(spec.Networking.Ingress[0].From) != 3 || spec.VpcID != "vpc-1" || *spec.TargetType != "ip" || got.Spec.Template.Name != "g1" ||
		got.Spec.Template.Labels["team"] != "a" || got.Spec.Template.Annotations["note"] != "b" {
		t.Errorf("%+v", got)
	}
}

func TestDocumentDistinguishesDroppedQueries(t *testing.T) {
	for want, to := range map[string]model.Redirect{
		`{"statusCode":"HTTP_301"}`:                 {Status: "HTTP_301"},
		`{"query":"","statusCode":"HTTP_301"}`:      {Status: "HTTP_301", DropQuery: true},
		`{"query":"a=1","statusCode":"HTTP_301"}`:   {Status: "HTTP_301", Query: "a=1"},
		`{"host":"b.test","statusCode":"HTTP_302"}`: {Status: "HTTP_302", Host: "b.test"},
	} {
		stack := heldStack()
		stack.LoadBalancer.Listeners[0].Default = []model.Action{to}
		if got := planner.Describe(stack, heldObservedState(), testOptions, plan.Memory{}).JSON(); !strings.Contains(got, `"redirectConfig":`+want) {
			t.Errorf("want %s, got %s", want, got)
		}
	}
}

// TestDocumentHasTheRangesOfSubnets checks that the networking rules of a binding have the ranges of the subnets of the load
// balancer, and that they are omitted while the ranges of the VPC are not known.
func TestDocumentHasTheRangesOfSubnets(t *testing.T) {
	for name, c := range map[string]struct {
		peer model.Peer
		want string
	}{
		"subnets":           {model.Peer{Subnets: true}, `"from":[{"ipBlock":{"cidr":"10.0.1.0/24"}},{"ipBlock":{"cidr":"10.0.2.0/24"}}]`},
		"VPC, not yet read": {model.Peer{VPC: true}, ""},
	} {
		want := withFinalizers(networkStack(model.Internal, map[int32]model.BaseProtocol{80: model.TCP}))
		b := *want.TargetGroups[0].Binding
		b.Managed, b.Networking = true, []model.BindingRule{{From: []model.Peer{c.peer}, Ports: []model.PeerPort{{Protocol: "TCP"}}}}
		want.TargetGroups[0].Binding = &b
		have := observed.Stack{Facts: serviceFacts()}
		have.Facts.VPCRanges = nil
		got := planner.Describe(want, have, testOptions, plan.Memory{}).JSON()
		if has := strings.Contains(got, `"networking"`); has != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
