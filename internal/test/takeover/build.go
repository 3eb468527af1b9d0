package takeover

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/cases"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// Site is an AWS account and a cluster in which Build creates the resources of aws-load-balancer-controller.
type Site struct {
	AWS aws.Config
	// Seeded has the AWS resources that controllers do not create.
	Seeded harness.Seeded
	// Objects has the objects of the cases. Build adds the finalizers and status that aws-load-balancer-controller wrote.
	Objects *cluster.Memory
}

// Build creates the recorded resources of the cases with the given names, as aws-load-balancer-controller created them. The
// objects of the cases must exist in site.Objects.
func Build(t *testing.T, site Site, names ...string) {
	t.Helper()
	buildWithVariations(t, site, variations{}, names...)
}

func buildWithVariations(t *testing.T, site Site, odd variations, names ...string) {
	t.Helper()
	var l caseRecord
	for _, name := range names {
		l.addCase(t, name)
	}
	l.setBindingNamespaces()
	newBuilder(t, site, odd).build(l)
}

// caseRecord has the recorded resources of one or more cases. Values are normalised as in the files of the cases: they
// contain names instead of IDs, and defaults are omitted.
type caseRecord struct {
	LoadBalancers  map[string]loadBalancer
	TargetGroups   map[string]targetGroup
	SecurityGroups map[string]securityGroup
	Bindings       map[string]binding
	Objects        map[string]object
}

type loadBalancer struct {
	Name, Type, Scheme, IpAddressType string
	AvailabilityZones, SecurityGroups []string
	Attributes, Tags                  map[string]string
	FixedAddresses                    []fixedAddress
	MinimumLoadBalancerCapacity       *elbtypes.MinimumLoadBalancerCapacity
	WebACL                            string
	Shield                            bool
	Listeners                         map[string]listener
}

type fixedAddress struct{ SubnetId, AllocationId, PrivateIPv4Address string }

type listener struct {
	Port                 int32
	Protocol, SslPolicy  string
	AlpnPolicy           []string
	Certificates         []string
	DefaultCertificate   string
	DefaultActions       []elbtypes.Action
	MutualAuthentication *elbtypes.MutualAuthenticationAttributes
	Attributes, Tags     map[string]string
	Rules                map[string]rule
}

type rule struct {
	Conditions []elbtypes.RuleCondition
	Actions    []elbtypes.Action
	Transforms []elbtypes.RuleTransform
	Tags       map[string]string
}

type targetGroup struct {
	Name, Port, HealthCheckPort string
	Protocol, ProtocolVersion   string
	TargetType, IpAddressType   string
	HealthCheckEnabled          *bool
	HealthCheckProtocol         string
	HealthCheckPath             *string
	HealthCheckIntervalSeconds  *int32
	HealthCheckTimeoutSeconds   *int32
	HealthyThresholdCount       *int32
	UnhealthyThresholdCount     *int32
	Matcher                     *elbtypes.Matcher
	Attributes, Tags            map[string]string
	Targets                     []string
}

type securityGroup struct {
	Name, Description string
	Tags              map[string]string
	Ingress           []string
}

func (l *caseRecord) addCase(t *testing.T, name string) {
	t.Helper()
	data, err := json.Marshal(cases.LoadRecord(t, name))
	if err != nil {
		t.Fatal(err)
	}
	var one caseRecord
	if err := json.Unmarshal(data, &one); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	merge(&l.LoadBalancers, one.LoadBalancers)
	merge(&l.TargetGroups, one.TargetGroups)
	merge(&l.SecurityGroups, one.SecurityGroups)
	merge(&l.Bindings, one.Bindings)
	merge(&l.Objects, one.Objects)
}

func merge[V any](into *map[string]V, from map[string]V) {
	if *into == nil {
		*into = map[string]V{}
	}
	maps.Copy(*into, from)
}

// variations are differences between existing resources and the resources that the controller would create. The controller
// must not change existing resources because of these differences.
type variations struct {
	// hasOtherNames gives load balancers, target groups and security groups names that differ from the computed names.
	hasOtherNames bool
	// hasReversedOrder reverses conditions, their values and the target groups of an action.
	hasReversedOrder bool
	// hasExplicitDefaults sets default values: all fields of a redirect, the weight of a single target group, disabled
	// stickiness, the order of a single action. Otherwise they are omitted.
	hasExplicitDefaults bool
	// usesLegacyForward creates a forward to one target group in the legacy form.
	usesLegacyForward bool
	// hasExtraTags adds the tag externalTag to all resources.
	hasExtraTags bool
	// hasRuleDescriptions adds descriptions to security group rules. It also adds a rule to the security group of the nodes
	// that no controller manages.
	hasRuleDescriptions bool
	// hasTwoZones creates load balancers in two Availability Zones, as before a third zone was added to the cluster.
	hasTwoZones bool
	// hasExtraAttributes sets attributes that no annotation sets.
	hasExtraAttributes bool
	// taggingLag is the delay of the Resource Groups Tagging API, with which the controller finds load balancers. If it is
	// 0, the controller does not use this API.
	taggingLag time.Duration
	// lacksCheckpoints creates TargetGroupBindings without a checkpoint, as after a change just before the take-over.
	lacksCheckpoints bool
}

const externalTag = "cost-center"

// builder creates recorded resources with calls of the AWS APIs.
type builder struct {
	t          *testing.T
	site       Site
	variations variations
	elb        *elb.Client
	ec2        *ec2.Client
	ids        map[string]string // IDs and ARNs by recorded name: sg:…, tg:…, cert:…, lb:…, subnets
	hostnames  map[string]string // host names of load balancers by recorded key "STACK:ID"
	nodes      []harness.Instance
	// nodePortRanges has the ports of the nodes that the backend security group may reach, by protocol. cidrPermissions has
	// the permissions of CIDRs to reach the nodes.
	nodePortRanges  map[string]portRange
	cidrPermissions []ec2types.IpPermission
	// nameCount is the number of target group names that were generated for hasOtherNames.
	nameCount int
}

type portRange struct{ from, to int32 }

func newBuilder(t *testing.T, site Site, odd variations) *builder {
	t.Helper()
	cfg, w := site.AWS, site.Seeded
	b := &builder{
		t: t, site: site, variations: odd, elb: elb.NewFromConfig(cfg), ec2: ec2.NewFromConfig(cfg), nodes: w.Instances,
		ids:       map[string]string{"vpc": w.VPC, "sg:nodes": w.NodeSG, "sg:extra": w.ExtraSG, "webacl": w.WebACL, "prefix-list": w.PrefixList},
		hostnames: map[string]string{}, nodePortRanges: map[string]portRange{},
	}
	for i, id := range w.EIPs {
		b.ids[fmt.Sprintf("eip-%d", i)] = id
	}
	for domain, arn := range w.Certs {
		b.ids["cert:"+domain] = arn
	}
	for name, arn := range w.TargetGroups {
		b.ids["tg:"+name] = arn
	}
	for i, zone := range []string{"a", "b", "c"} {
		b.ids["public-"+harness.Region+zone], b.ids["private-"+harness.Region+zone] = w.Public[i], w.Private[i]
	}
	return b
}

func must[T any](t *testing.T, out T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (b *builder) ctx() context.Context { return b.t.Context() }

// id returns the ID or ARN of the resource with a recorded name.
func (b *builder) id(name string) string {
	b.t.Helper()
	id, ok := b.ids[name]
	if !ok {
		b.t.Fatalf("the recording has no resource with the name %q", name)
	}
	return id
}

// build creates all resources in the order of their dependencies.
func (b *builder) build(l caseRecord) {
	b.t.Helper()
	b.createBackendSecurityGroup()
	for _, key := range slices.Sorted(maps.Keys(l.SecurityGroups)) {
		b.createManagedSecurityGroup(key, l.SecurityGroups[key])
	}
	for _, key := range slices.Sorted(maps.Keys(l.TargetGroups)) {
		b.createTargetGroup(key, l.TargetGroups[key], l.Bindings[key])
	}
	for _, key := range slices.Sorted(maps.Keys(l.LoadBalancers)) {
		b.createLoadBalancer(key, l.LoadBalancers[key])
	}
	for _, key := range slices.Sorted(maps.Keys(l.TargetGroups)) {
		b.registerTargets(key, l.TargetGroups[key], l.Bindings[key])
	}
	for _, key := range slices.Sorted(maps.Keys(l.Bindings)) {
		b.createBinding(key, l.Bindings[key])
	}
	b.allowNodePorts()
	for _, key := range slices.Sorted(maps.Keys(l.Objects)) {
		b.setObjectStatus(key, l.Objects[key])
	}
}

// parseResourceKey splits a recorded key "STACK:ID" into the stack and the resource ID. The kind of the stack follows from
// the name of the case, which is the namespace.
func parseResourceKey(key string) (model.StackID, string) {
	stack, id, _ := strings.Cut(key, ":")
	ns, name, ok := strings.Cut(stack, "/")
	if !ok {
		ns, name = "", stack
	}
	kind := model.Ingress // unless the name of the case has one of the prefixes below
	switch {
	case strings.HasPrefix(stack, "service-"):
		kind = model.Service
	case slices.Contains([]string{"gateway-tcp", "gateway-tls-nlb", "gateway-udp"}, ns):
		kind = model.NLBGateway
	case strings.HasPrefix(stack, "gateway-"):
		kind = model.ALBGateway
	}
	return model.StackID{Kind: kind, Namespace: ns, Name: name}, id
}

// nameWithHash returns name if the recorded name ends with "#", which replaces the hash of generated names. Otherwise it
// returns the recorded name.
func nameWithHash(recorded, name string) string {
	if strings.HasSuffix(recorded, "#") {
		return name
	}
	return recorded
}

func (b *builder) resourceName(recorded string) string {
	if !b.variations.hasOtherNames {
		return recorded
	}
	return "old" + strings.TrimPrefix(recorded, "k8s")
}

func (b *builder) tags(tags map[string]string) (out []elbtypes.Tag) {
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, elbtypes.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	if b.variations.hasExtraTags {
		out = append(out, elbtypes.Tag{Key: aws.String(externalTag), Value: aws.String("42")})
	}
	return out
}

func (b *builder) createLoadBalancer(key string, lb loadBalancer) {
	b.t.Helper()
	id, _ := parseResourceKey(key)
	if id.Kind != model.Ingress {
		lb.Name = nameWithHash(lb.Name, naming.LoadBalancerNameWithUID(harness.ClusterName, id, b.ownerUID(id), model.Scheme(lb.Scheme)))
	}
	in := &elb.CreateLoadBalancerInput{
		Name: aws.String(b.resourceName(lb.Name)), Type: elbtypes.LoadBalancerTypeEnum(lb.Type), Scheme: elbtypes.LoadBalancerSchemeEnum(lb.Scheme),
		IpAddressType: elbtypes.IpAddressType(lb.IpAddressType), Tags: b.tags(lb.Tags),
	}
	// Load balancers without security groups keep all zones, because TargetGroupBindings contain the CIDRs of the zones.
	if len(lb.AvailabilityZones) > 2 && len(lb.SecurityGroups) > 0 && b.variations.hasTwoZones {
		lb.AvailabilityZones = lb.AvailabilityZones[:2]
	}
	lb.Attributes = b.withExtraAttribute(lb.Attributes, "routing.http.xff_client_port.enabled", "true", lb.Type == "application")
	for _, z := range lb.AvailabilityZones {
		if lb.Type == "application" {
			in.Subnets = append(in.Subnets, b.id(z))
			continue
		}
		m := elbtypes.SubnetMapping{SubnetId: aws.String(b.id(z))}
		for _, a := range lb.FixedAddresses {
			switch {
			case a.SubnetId != z:
			case a.AllocationId != "":
				m.AllocationId = aws.String(b.id(a.AllocationId))
			default:
				m.PrivateIPv4Address = aws.String(a.PrivateIPv4Address)
			}
		}
		in.SubnetMappings = append(in.SubnetMappings, m)
	}
	for _, g := range lb.SecurityGroups {
		in.SecurityGroups = append(in.SecurityGroups, b.id(g))
	}
	out, err := b.elb.CreateLoadBalancer(b.ctx(), in)
	made := must(b.t, out, err).LoadBalancers[0]
	arn := made.LoadBalancerArn
	b.ids["lb:"+key], b.hostnames[key] = *arn, aws.ToString(made.DNSName)
	if len(lb.Attributes) > 0 {
		in := &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: arn}
		for _, k := range slices.Sorted(maps.Keys(lb.Attributes)) {
			in.Attributes = append(in.Attributes, elbtypes.LoadBalancerAttribute{Key: aws.String(k), Value: aws.String(lb.Attributes[k])})
		}
		_, err := b.elb.ModifyLoadBalancerAttributes(b.ctx(), in)
		must(b.t, 0, err)
	}
	if lb.MinimumLoadBalancerCapacity != nil {
		time.Sleep(5 * time.Minute) // AWS rejects the call while the load balancer is provisioning
		_, err := b.elb.ModifyCapacityReservation(b.ctx(), &elb.ModifyCapacityReservationInput{
			LoadBalancerArn: arn, MinimumLoadBalancerCapacity: lb.MinimumLoadBalancerCapacity,
		})
		must(b.t, 0, err)
	}
	if lb.WebACL != "" {
		_, err := wafv2.NewFromConfig(b.site.AWS).AssociateWebACL(b.ctx(), &wafv2.AssociateWebACLInput{ResourceArn: arn, WebACLArn: aws.String(b.id(lb.WebACL))})
		must(b.t, 0, err)
	}
	if lb.Shield {
		_, err := shield.NewFromConfig(b.site.AWS).CreateProtection(b.ctx(), &shield.CreateProtectionInput{
			Name: aws.String("managed by aws-load-balancer-controller"), ResourceArn: arn,
		})
		must(b.t, 0, err)
	}
	for _, k := range slices.Sorted(maps.Keys(lb.Listeners)) {
		b.createListener(arn, lb.Listeners[k])
	}
}

func (b *builder) createListener(lb *string, l listener) {
	b.t.Helper()
	in := &elb.CreateListenerInput{
		LoadBalancerArn: lb, Port: aws.Int32(l.Port), Protocol: elbtypes.ProtocolEnum(l.Protocol), AlpnPolicy: l.AlpnPolicy,
		DefaultActions: b.actions(l.DefaultActions), MutualAuthentication: l.MutualAuthentication, Tags: b.tags(l.Tags),
	}
	if l.SslPolicy != "" {
		in.SslPolicy = aws.String(l.SslPolicy)
	}
	if l.DefaultCertificate != "" {
		in.Certificates = []elbtypes.Certificate{{CertificateArn: aws.String(b.id(l.DefaultCertificate))}}
	}
	out, err := b.elb.CreateListener(b.ctx(), in)
	arn := must(b.t, out, err).Listeners[0].ListenerArn
	for _, c := range l.Certificates {
		// aws-load-balancer-controller also adds the default certificate to the list for SNI.
		_, err := b.elb.AddListenerCertificates(b.ctx(), &elb.AddListenerCertificatesInput{
			ListenerArn: arn, Certificates: []elbtypes.Certificate{{CertificateArn: aws.String(b.id(c))}},
		})
		must(b.t, 0, err)
	}
	l.Attributes = b.withExtraAttribute(l.Attributes, "routing.http.response.server.enabled", "false", strings.HasPrefix(l.Protocol, "HTTP"))
	if len(l.Attributes) > 0 {
		in := &elb.ModifyListenerAttributesInput{ListenerArn: arn}
		for _, k := range slices.Sorted(maps.Keys(l.Attributes)) {
			in.Attributes = append(in.Attributes, elbtypes.ListenerAttribute{Key: aws.String(k), Value: aws.String(l.Attributes[k])})
		}
		_, err := b.elb.ModifyListenerAttributes(b.ctx(), in)
		must(b.t, 0, err)
	}
	for _, priority := range slices.Sorted(maps.Keys(l.Rules)) {
		b.createRule(arn, priority, l.Rules[priority])
	}
}

// withExtraAttribute returns attributes with an additional attribute if the variation hasExtraAttributes is set. It adds no
// attribute that the resource does not support (known is false) or that is already set.
func (b *builder) withExtraAttribute(have map[string]string, key, value string, known bool) map[string]string {
	if !b.variations.hasExtraAttributes || !known || have[key] != "" {
		return have
	}
	out := map[string]string{key: value}
	maps.Copy(out, have)
	return out
}

// service returns a Service. It fails the test if the Service does not exist.
func (b *builder) service(namespace, name string) *corev1.Service {
	b.t.Helper()
	obj, err := b.site.Objects.Get(cluster.Ref{Kind: cluster.KindService, Namespace: namespace, Name: name})
	svc, ok := must(b.t, obj, err).(*corev1.Service)
	if !ok {
		b.t.Fatalf("there is no Service %s/%s", namespace, name)
	}
	return svc
}

// ownerUID returns the UID of the Service or Gateway of a stack.
func (b *builder) ownerUID(id model.StackID) string {
	b.t.Helper()
	if id.Kind == model.Service {
		return string(b.service(id.Namespace, id.Name).UID)
	}
	obj, err := b.site.Objects.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: id.Namespace, Name: id.Name})
	return string(must(b.t, obj, err).GetUID())
}

// createBackendSecurityGroup creates the security group that all load balancers of the cluster share.
func (b *builder) createBackendSecurityGroup() {
	b.t.Helper()
	b.ids["sg:backend"] = b.createSecurityGroup(naming.BackendSecurityGroupName(harness.ClusterName), naming.BackendSecurityGroupDescription, map[string]string{
		"elbv2.k8s.aws/cluster": harness.ClusterName, "elbv2.k8s.aws/resource": "backend-sg",
	})
}
