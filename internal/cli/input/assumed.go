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
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// What a plan without AWS and without a cluster takes the place of facts with.
const (
	assumedCluster = "offline"
	assumedRegion  = "us-east-1"
	assumedAccount = "123456789012"
	assumedVPC     = "vpc-assumed"
	assumedSubnets = 3
)

// assumed is an AWS account without load balancers, in which everything exists that objects name: a network, security
// groups, target groups, web ACLs and trust stores under any name, and certificates for the hosts of the objects. It
// collects what was taken for granted.
type assumed struct {
	region, vpc string
	hosts       []string
	Facts       []string
}

// assume notes a fact that is taken for granted, once.
func (a *assumed) assume(form string, args ...any) {
	if fact := fmt.Sprintf(form, args...); !slices.Contains(a.Facts, fact) {
		a.Facts = append(a.Facts, fact)
	}
}

// show prints what was assumed, if there is anything.
func (a *assumed) show(w io.Writer) {
	if a == nil {
		return
	}
	for _, fact := range a.Facts {
		fmt.Fprintf(w, "# assumed: %s\n", fact)
	}
}

// assume sets a command up to do without AWS and without a cluster.
func (d *Source) assume(store *cluster.Memory) error {
	if d.Config.ClusterName == "" {
		d.Config.ClusterName = assumedCluster
	}
	facts, err := assumeObjects(store)
	d.Assumed = assumeAWS(d.Config, store)
	d.Assumed.Facts = append(d.Assumed.Facts, facts...)
	d.Connected, d.VPC = d.Assumed, d.Assumed.vpc
	return err
}

func assumeAWS(c config.Config, store *cluster.Memory) *assumed {
	a := &assumed{region: c.AWS.Region, vpc: c.AWS.VPC, hosts: hostsIn(store)}
	if c.ClusterName == assumedCluster {
		a.assume("the cluster has the name %q, by which names of AWS resources are made", assumedCluster)
	}
	a.assume("AWS has no load balancers yet, so everything is created")
	if a.region == "" {
		a.region = assumedRegion
		a.assume("region %s", a.region)
	}
	if a.vpc == "" {
		a.vpc = assumedVPC
		a.assume("VPC %s", a.vpc)
	}
	return a
}

func (a *assumed) arn(service, resource string) string {
	return fmt.Sprintf("arn:aws:%s:%s:%s:%s", service, a.region, assumedAccount, resource)
}

// Observe implements engine.Cloud.
func (a *assumed) Observe(_ context.Context, _ model.StackID, questions []model.Question) (observed.Stack, error) {
	f := observed.Facts{
		Region: a.region, Account: assumedAccount, VPC: a.vpc,
		Subnets: map[string]observed.SubnetAnswer{}, Groups: map[string]observed.GroupAnswer{}, Schemes: map[string]model.Scheme{}, TargetGroups: map[string]string{},
		AddOns: map[string]observed.AddOn{}, WebACLs: map[string]observed.WebACL{}, TrustStores: map[string]string{}, ALBTargets: map[string][]observed.Target{},
		Validations: map[string]observed.Validation{}, CertificateOwners: map[string]observed.CertificateOwner{}, Health: map[string]observed.Health{},
		Endpoints: map[string][]observed.EndpointLoadBalancer{},
	}
	for _, q := range questions {
		a.answer(&f, q)
	}
	return observed.Stack{Facts: f}, nil
}

func (a *assumed) answer(f *observed.Facts, q model.Question) {
	switch q := q.(type) {
	case model.AskScheme:
		f.Schemes[q.Key()] = ""
	case model.AskVPC:
		f.VPCRanges = []string{"10.0.0.0/16", "2001:db8::/56"}
		a.assume("the VPC has the ranges %s", strings.Join(f.VPCRanges, ", "))
	case model.AskSubnets:
		f.Subnets[q.Key()] = observed.SubnetAnswer{Candidates: a.subnets(q)}
	case model.AskGroups:
		f.Groups[q.Key()] = a.securityGroups(q)
	case model.AskCertificates:
		f.CertificatesAsked = true
		if len(a.hosts) > 0 {
			f.Certificates = []observed.Certificate{{ARN: a.arn("acm", "certificate/assumed"), Status: observed.Issued, Domains: a.hosts}}
			a.assume("ACM has an issued certificate for %s", output.JoinFirst(a.hosts))
		}
	case model.AskCertificateOwner:
		f.CertificateOwners[q.ARN] = observed.CertificateOwner{}
	case model.AskOwnCertificates:
		f.OwnCertificatesAsked = true
	case model.AskPublicCertificates:
		f.PublicCertificatesAsked = true
	case model.AskHostedZones:
		f.Zones = &observed.HostedZones{}
		for _, host := range a.hosts {
			f.Zones.List = append(f.Zones.List, observed.HostedZone{ID: "ZASSUMED", Name: strings.TrimPrefix(host, "*.")})
		}
		a.assume("Route 53 has public hosted zones for the hosts")
	case model.AskTargetGroup:
		f.TargetGroups[q.Ref] = q.Ref
		if !strings.HasPrefix(q.Ref, "arn:") {
			f.TargetGroups[q.Ref] = a.arn("elasticloadbalancing", "targetgroup/"+q.Ref+"/assumed")
		}
		a.assume("target group %s exists", q.Ref)
	case model.AskAddOn:
		f.AddOns[q.Key()] = observed.AddOn{}
	case model.AskWebACL:
		f.WebACLs[q.Name] = observed.WebACL{ARN: a.arn("wafv2", "regional/webacl/"+q.Name+"/assumed")}
		a.assume("web ACL %q exists", q.Name)
	case model.AskSubscription:
		f.Subscription = &observed.Subscription{Active: true}
		a.assume("the account has subscribed to Shield Advanced")
	case model.AskLoadBalancers:
		f.Endpoints[q.Key()] = a.endpoints(q)
	case model.AskTrustStores:
		for name := range strings.SplitSeq(q.Names, ",") {
			f.TrustStores[name] = a.arn("elasticloadbalancing", "truststore/"+name+"/assumed")
			a.assume("trust store %q exists", name)
		}
	}
	// The other questions are about what is in AWS, where there is nothing.
}

// subnets returns the subnets that a question names, or three that are discovered, each in an availability zone of its
// own.
func (a *assumed) subnets(q model.AskSubnets) []observed.Subnet {
	var refs []string
	for i := range assumedSubnets {
		refs = append(refs, "subnet-assumed-"+string(rune('a'+i)))
	}
	which := "subnets for load balancers"
	switch {
	case q.Refs != "":
		refs = strings.Split(q.Refs, ",")
		which = "the subnets that are named"
	case q.Tags != "":
		which = "subnets with the tags " + q.Tags
	}
	out := make([]observed.Subnet, len(refs))
	for i, ref := range refs {
		out[i] = observed.Subnet{
			ID: ref, Zone: a.region + string(rune('a'+i%26)), ZoneID: fmt.Sprintf("az%d", i+1), ZoneType: "availability-zone", FreeIPs: 100, VPC: a.vpc,
			CIDR: fmt.Sprintf("10.0.%d.0/24", i%256), IPv6CIDRs: []string{fmt.Sprintf("2001:db8:0:%x::/64", i%256)},
		}
		if !strings.HasPrefix(ref, "subnet-") {
			out[i].ID, out[i].Name = "subnet-assumed-"+ref, ref
		}
		refs[i] = out[i].ID
	}
	a.assume("%s are %s, each in a zone of its own, with free addresses", which, output.JoinFirst(refs))
	return out
}

// endpoints returns the load balancers that endpoints of accelerators name.
func (a *assumed) endpoints(q model.AskLoadBalancers) []observed.EndpointLoadBalancer {
	of, kind := model.Application, "app"
	if strings.Contains(q.ARN, ":loadbalancer/net/") || !q.Of.Kind.HasRules() && q.ARN == "" {
		of, kind = model.Network, "net"
	}
	lb := observed.EndpointLoadBalancer{LoadBalancer: observed.LoadBalancer{
		ARN: q.ARN, Name: "assumed", Type: of.String(), Scheme: model.InternetFacing, AddressType: model.IPv4, State: "active", SecurityGroups: []string{"sg-assumed"},
	}}
	switch {
	case strings.HasPrefix(q.ARN, "eipalloc-"):
		return nil
	case q.ARN != "":
		a.assume("load balancer %s exists", q.ARN)
	case q.DNSName != "":
		return nil
	default:
		lb.ARN, lb.ResourceID = a.arn("elasticloadbalancing", fmt.Sprintf("loadbalancer/%s/%s/assumed", kind, q.Of.Name)), model.LoadBalancerID
		lb.Cluster, lb.Stack = true, q.Of
		a.assume("%s %s has a load balancer that serves", q.Of.Kind, q.Of)
	}
	return []observed.EndpointLoadBalancer{lb}
}

func (a *assumed) securityGroups(q model.AskGroups) observed.GroupAnswer {
	out := observed.GroupAnswer{ByName: map[string][]string{}}
	for _, ref := range q.List {
		if strings.HasPrefix(ref, "sg-") {
			out.ByID = append(out.ByID, ref)
		} else {
			out.ByName[ref] = []string{"sg-assumed-" + ref}
		}
	}
	a.assume("security groups %s exist", output.JoinFirst(q.List))
	return out
}

// Apply implements engine.Cloud.
func (*assumed) Apply(context.Context, model.StackID, plan.Step, plan.KnownIDs) (plan.Result, error) {
	return plan.Result{}, errReadOnly
}

// Class implements engine.Cloud.
func (*assumed) Class(error) engine.Class { return engine.Unknown }

// hostsIn returns the hosts that objects name, sorted.
func hostsIn(store *cluster.Memory) []string {
	var out []string
	add := func(host string) {
		if host != "" {
			out = append(out, host)
		}
	}
	for _, typ := range cluster.Types() {
		for _, o := range store.All(typ.Kind) {
			switch o := o.(type) {
			case *networkingv1.Ingress:
				for _, r := range o.Spec.Rules {
					add(r.Host)
				}
				for _, t := range o.Spec.TLS {
					out = append(out, t.Hosts...)
				}
			case *gwv1.Gateway:
				for _, l := range o.Spec.Listeners {
					if l.Hostname != nil {
						add(string(*l.Hostname))
					}
				}
			case *gwv1.HTTPRoute:
				for _, h := range o.Spec.Hostnames {
					add(string(h))
				}
			case *gwv1.GRPCRoute:
				for _, h := range o.Spec.Hostnames {
					add(string(h))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// assumeObjects adds what manifests of applications refer to and seldom hold: the classes that they name, of this
// controller, and their namespaces. It returns what it added.
func assumeObjects(store *cluster.Memory) (facts []string, err error) {
	missing := func(ref cluster.Ref) bool {
		o, e := store.Get(ref)
		err = cmp.Or(err, e)
		return e == nil && o == nil
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
		class := &networkingv1.IngressClass{Spec: networkingv1.IngressClassSpec{Controller: cluster.IngressController}}
		class.Name = *name
		add(class, "IngressClass %q exists%s, is of this controller and has no parameters", *name, unserved{store: store}.probableName(cluster.KindIngressClass, "", *name))
	}
	for _, o := range store.All(cluster.KindGateway) {
		gw := o.(*gwv1.Gateway)
		name := string(gw.Spec.GatewayClassName)
		if !missing(cluster.Ref{Kind: cluster.KindGatewayClass, Name: name}) {
			continue
		}
		class := &gwv1.GatewayClass{Spec: gwv1.GatewayClassSpec{ControllerName: gatewayconfig.ALBController}}
		if kind, _ := gatewayconfig.KindFor(gatewayconfig.AnyController, gw); !kind.HasRules() {
			class.Spec.ControllerName = gatewayconfig.NLBController
		}
		class.Name = name
		add(class, "GatewayClass %q exists%s, has controllerName %q and no parameters", name, unserved{store: store}.probableName(cluster.KindGatewayClass, "", name), class.Spec.ControllerName)
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
