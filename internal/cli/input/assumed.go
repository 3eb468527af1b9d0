package input

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// Values that --offline assumes where no flag sets them.
const (
	assumedCluster     = "offline"
	assumedRegion      = "us-east-1"
	assumedAccount     = "123456789012"
	assumedVPC         = "vpc-assumed"
	assumedSubnetCount = 3
)

// offlineAWS replaces AWS with --offline. The assumed account has no load balancers. It has all other resources that the
// objects name: subnets, security groups, target groups, web ACLs and trust stores of any name, and certificates for the
// hosts of the objects.
type offlineAWS struct {
	readOnlyCloud
	region, vpc string
	// hosts are the hosts that objects name.
	hosts []string
	// Facts are the assumptions, one sentence each.
	Facts []string
}

// addFact adds a sentence to Facts, unless Facts already contains it.
func (a *offlineAWS) addFact(format string, args ...any) {
	if fact := fmt.Sprintf(format, args...); !slices.Contains(a.Facts, fact) {
		a.Facts = append(a.Facts, fact)
	}
}

// showFacts prints the assumptions. It prints nothing if a is nil.
func (a *offlineAWS) showFacts(w io.Writer) {
	if a == nil {
		return
	}
	for _, fact := range a.Facts {
		fmt.Fprintf(w, "# assumed: %s\n", fact)
	}
}

// assumeOffline replaces AWS by an assumed account. It adds to store the classes and namespaces to which the manifests refer
// but which they do not contain.
func (d *Source) assumeOffline(store *cluster.Memory) error {
	if d.Config.ClusterName == "" {
		d.Config.ClusterName = assumedCluster
	}
	facts, err := addAssumedObjects(store, cluster.KindIngressClass, cluster.KindGatewayClass, cluster.KindNamespace)
	d.OfflineAWS = newOfflineAWS(d.Config, store)
	d.OfflineAWS.Facts = append(d.OfflineAWS.Facts, facts...)
	d.Cloud, d.VPC = d.OfflineAWS, d.OfflineAWS.vpc
	return err
}

// newOfflineAWS returns the assumed account for a configuration. It has certificates for the hosts of the objects in store.
func newOfflineAWS(c config.Config, store *cluster.Memory) *offlineAWS {
	a := &offlineAWS{region: c.AWS.Region, vpc: c.AWS.VPC, hosts: hostsIn(store)}
	if c.ClusterName == assumedCluster {
		a.addFact("the cluster has the name %q, which is part of the names of AWS resources", assumedCluster)
	}
	a.addFact("AWS has no load balancers yet, so everything is created")
	if a.region == "" {
		a.region = assumedRegion
		a.addFact("region %s", a.region)
	}
	if a.vpc == "" {
		a.vpc = assumedVPC
		a.addFact("VPC %s", a.vpc)
	}
	return a
}

// arn returns the ARN of an assumed resource.
func (a *offlineAWS) arn(service, resource string) string {
	return fmt.Sprintf("arn:aws:%s:%s:%s:%s", service, a.region, assumedAccount, resource)
}

// Observe implements engine.Cloud.
func (a *offlineAWS) Observe(_ context.Context, _ model.StackID, questions []model.Question) (observed.Stack, error) {
	f := observed.Facts{
		Region: a.region, Account: assumedAccount,
		Subnets: map[string]observed.SubnetAnswer{}, SecurityGroups: map[string]observed.SecurityGroupAnswer{}, Schemes: map[string]model.Scheme{}, TargetGroups: map[string]string{},
		AddOns: map[string]observed.AddOn{}, WebACLs: map[string]observed.WebACL{}, TrustStores: map[string]string{}, ALBTargets: map[string][]observed.Target{},
		Validations: map[string]observed.Validation{}, CertificateOwners: map[string]observed.CertificateOwner{}, Health: map[string]observed.Health{},
		Endpoints: map[string][]observed.EndpointLoadBalancer{},
	}
	for _, q := range questions {
		a.addAnswer(&f, q)
	}
	return observed.Stack{Facts: f}, nil
}

// addAnswer stores the assumed answer to question q in f, and adds a sentence about the assumption to a.Facts.
func (a *offlineAWS) addAnswer(f *observed.Facts, q model.Question) {
	switch q := q.(type) {
	case model.AskScheme:
		f.Schemes[q.Key()] = ""
	case model.AskVPC:
		f.VPCRanges = []string{"10.0.0.0/16", "2001:db8::/56"}
		a.addFact("the VPC has the ranges %s", strings.Join(f.VPCRanges, ", "))
	case model.AskSubnets:
		f.Subnets[q.Key()] = observed.SubnetAnswer{Candidates: a.subnets(q)}
	case model.AskNamedSecurityGroups:
		f.SecurityGroups[q.Key()] = a.securityGroups(q)
	case model.AskCertificates:
		f.CertificatesAsked = true
		if len(a.hosts) > 0 {
			f.Certificates = []observed.Certificate{{ARN: a.arn("acm", "certificate/assumed"), Status: observed.CertificateIssued, Domains: a.hosts}}
			a.addFact("ACM has an issued certificate for %s", output.JoinFirst(a.hosts))
		}
	case model.AskCertificateOwner:
		f.CertificateOwners[q.ARN] = observed.CertificateOwner{}
	case model.AskOwnCertificates:
		f.OwnCertificatesAsked = true
	case model.AskPublicCertificates:
		f.PublicCertificatesAsked = true
	case model.AskHostedZones:
		f.HostedZones = &observed.HostedZones{}
		for _, host := range a.hosts {
			f.HostedZones.Zones = append(f.HostedZones.Zones, observed.HostedZone{ID: "ZASSUMED", Name: strings.TrimPrefix(host, "*.")})
		}
		a.addFact("Route 53 has public hosted zones for the hosts")
	case model.AskTargetGroup:
		f.TargetGroups[q.Ref] = q.Ref
		if !strings.HasPrefix(q.Ref, "arn:") {
			f.TargetGroups[q.Ref] = a.arn("elasticloadbalancing", "targetgroup/"+q.Ref+"/assumed")
		}
		a.addFact("target group %s exists", q.Ref)
	case model.AskAddOn:
		f.AddOns[q.Key()] = observed.AddOn{}
	case model.AskWebACL:
		f.WebACLs[q.Name] = observed.WebACL{ARN: a.arn("wafv2", "regional/webacl/"+q.Name+"/assumed")}
		a.addFact("web ACL %q exists", q.Name)
	case model.AskSubscription:
		f.Subscription = &observed.Subscription{Active: true}
		a.addFact("the account has subscribed to Shield Advanced")
	case model.AskLoadBalancers:
		f.Endpoints[q.Key()] = a.endpointLoadBalancers(q)
	case model.AskTrustStores:
		for _, name := range q.Names {
			f.TrustStores[name] = a.arn("elasticloadbalancing", "truststore/"+name+"/assumed")
			a.addFact("trust store %q exists", name)
		}
	}
	// All other questions are about resources that the assumed account does not have.
}

// subnets returns the subnets that a question names. If it names none, subnets returns three subnets, each in a different
// Availability Zone.
func (a *offlineAWS) subnets(q model.AskSubnets) []observed.Subnet {
	var refs []string
	for i := range assumedSubnetCount {
		refs = append(refs, "subnet-assumed-"+string(rune('a'+i)))
	}
	description := "subnets for load balancers"
	switch {
	case q.Refs != "":
		refs = strings.Split(q.Refs, ",")
		description = "the named subnets"
	case q.Tags != "":
		description = "subnets with the tags " + q.Tags
	}
	out := make([]observed.Subnet, len(refs))
	for i, ref := range refs {
		out[i] = observed.Subnet{
			ID: ref, Zone: a.region + string(rune('a'+i%26)), ZoneID: fmt.Sprintf("az%d", i+1), ZoneType: "availability-zone", FreeIPs: 100,
			CIDR: fmt.Sprintf("10.0.%d.0/24", i%256), IPv6CIDRs: []string{fmt.Sprintf("2001:db8:0:%x::/64", i%256)},
		}
		if !strings.HasPrefix(ref, "subnet-") {
			out[i].ID, out[i].Name = "subnet-assumed-"+ref, ref
		}
		refs[i] = out[i].ID
	}
	a.addFact("%s are %s, each in a different availability zone, with free addresses", description, output.JoinFirst(refs))
	return out
}

// endpointLoadBalancers returns the load balancer that an endpoint of an accelerator names. It returns nil if the endpoint
// is an Elastic IP address or a DNS name.
func (a *offlineAWS) endpointLoadBalancers(q model.AskLoadBalancers) []observed.EndpointLoadBalancer {
	typ, prefix := model.Application, "app"
	if strings.Contains(q.ARN, ":loadbalancer/net/") || !q.Of.Kind.HasRules() && q.ARN == "" {
		typ, prefix = model.Network, "net"
	}
	lb := observed.EndpointLoadBalancer{LoadBalancer: observed.LoadBalancer{
		ARN: q.ARN, Name: "assumed", Type: typ.String(), Scheme: model.InternetFacing, AddressType: model.IPv4, State: "active", SecurityGroups: []string{"sg-assumed"},
	}}
	switch {
	case strings.HasPrefix(q.ARN, "eipalloc-"):
		return nil
	case q.ARN != "":
		a.addFact("load balancer %s exists", q.ARN)
	case q.DNSName != "":
		return nil
	default:
		lb.ARN, lb.ResourceID = a.arn("elasticloadbalancing", fmt.Sprintf("loadbalancer/%s/%s/assumed", prefix, q.Of.Name)), model.LoadBalancerID
		lb.Cluster, lb.Stack = true, q.Of
		a.addFact("%s has an active load balancer", q.Of.Title())
	}
	return []observed.EndpointLoadBalancer{lb}
}

// securityGroups returns the security groups that a question names.
func (a *offlineAWS) securityGroups(q model.AskNamedSecurityGroups) observed.SecurityGroupAnswer {
	out := observed.SecurityGroupAnswer{ByName: map[string][]string{}}
	for _, ref := range q.List {
		if strings.HasPrefix(ref, "sg-") {
			out.ByID = append(out.ByID, ref)
		} else {
			out.ByName[ref] = []string{"sg-assumed-" + ref}
		}
	}
	a.addFact("security groups %s exist", output.JoinFirst(q.List))
	return out
}

// hostsIn returns the hosts of all Ingresses, Gateways, ListenerSets and routes, sorted and without duplicates.
func hostsIn(store *cluster.Memory) []string {
	var out []string
	for _, typ := range cluster.Types() {
		for _, o := range store.All(typ.Kind) {
			switch o := o.(type) {
			case *networkingv1.Ingress:
				for _, r := range o.Spec.Rules {
					out = append(out, r.Host)
				}
				for _, t := range o.Spec.TLS {
					out = append(out, t.Hosts...)
				}
			case *gwv1.Gateway:
				for _, l := range o.Spec.Listeners {
					out = append(out, string(ptr.Deref(l.Hostname, "")))
				}
			case *gwv1.ListenerSet:
				for _, l := range o.Spec.Listeners {
					out = append(out, string(ptr.Deref(l.Hostname, "")))
				}
			default:
				out = append(out, attach.Hostnames(o)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(slices.DeleteFunc(out, func(host string) bool { return host == "" }))
}

// addAssumedObjects adds to store the IngressClasses, GatewayClasses and namespaces to which objects refer but which store
// does not contain. The classes belong to this controller. It adds only objects of the given kinds, which are those that
// were not read. It returns a sentence about each object that it added.
func addAssumedObjects(store *cluster.Memory, kinds ...cluster.Kind) (facts []string, err error) {
	missing := func(ref cluster.Ref) bool {
		o, e := store.Get(ref)
		err = cmp.Or(err, e)
		return e == nil && o == nil && slices.Contains(kinds, ref.Kind)
	}
	add := func(o cluster.Object, form string, args ...any) {
		if err = cmp.Or(err, store.Apply(o)); err == nil {
			facts = append(facts, fmt.Sprintf(form, args...))
		}
	}
	for _, o := range store.All(cluster.KindIngress) {
		name := o.(*networkingv1.Ingress).Spec.IngressClassName
		if name == nil || !missing(cluster.Ref{Kind: cluster.KindIngressClass, Name: *name}) {
			continue
		}
		class := &networkingv1.IngressClass{Spec: networkingv1.IngressClassSpec{Controller: cluster.IngressControllerName}}
		class.Name = *name
		add(class, "IngressClass %q exists%s, belongs to this controller and has no parameters", *name, similarNameHint(store, cluster.KindIngressClass, "", *name))
	}
	for _, o := range store.All(cluster.KindGateway) {
		gw := o.(*gwv1.Gateway)
		name := string(gw.Spec.GatewayClassName)
		if !missing(cluster.Ref{Kind: cluster.KindGatewayClass, Name: name}) {
			continue
		}
		class := &gwv1.GatewayClass{Spec: gwv1.GatewayClassSpec{ControllerName: gatewayconfig.ALBController}}
		if kind, _ := gatewayconfig.StackKindFor(gatewayconfig.FulcrumController, gw); !kind.HasRules() {
			class.Spec.ControllerName = gatewayconfig.NLBController
		}
		class.Name = name
		add(class, "GatewayClass %q exists%s, has controllerName %q and no parameters", name, similarNameHint(store, cluster.KindGatewayClass, "", name), class.Spec.ControllerName)
	}
	for _, namespace := range namespacesIn(store) {
		if missing(cluster.Ref{Kind: cluster.KindNamespace, Name: namespace}) {
			n := &corev1.Namespace{}
			n.Name = namespace
			add(n, "Namespace %q exists and has no labels", namespace)
		}
	}
	return facts, err
}

// namespacesIn returns the namespaces of all objects, sorted and without duplicates.
func namespacesIn(store *cluster.Memory) []string {
	var out []string
	for _, typ := range cluster.Types() {
		for _, o := range store.All(typ.Kind) {
			if n := o.GetNamespace(); n != "" {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
