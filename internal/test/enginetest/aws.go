// Package enginetest runs frontends with a Kubernetes store in memory and a fake of AWS, for golden tests.
package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

const (
	testRegion  = "us-west-2"
	testAccount = "123456789012"
)

// FakeAWS is a fake of AWS that has no load balancers at the start. For every name, there is a subnet, a security group,
// a target group, a web ACL and a trust store. ACM has certificates for example.com, app.test and one.test. All targets
// are healthy and all calls succeed.
type FakeAWS struct {
	t                    testing.TB
	stacks               map[model.StackID]observed.Stack
	backendSecurityGroup *observed.SecurityGroup // shared by all stacks
}

func newAWS(t testing.TB) *FakeAWS {
	return &FakeAWS{t: t, stacks: map[model.StackID]observed.Stack{}}
}

func arn(service, resource string) string {
	return fmt.Sprintf("arn:aws:%s:%s:%s:%s", service, testRegion, testAccount, resource)
}

// Observe implements engine.Cloud.
func (a *FakeAWS) Observe(_ context.Context, id model.StackID, questions []model.Question) (observed.Stack, error) {
	have := a.stacks[id]
	f := &have.Facts
	*f = observed.Facts{
		Region: testRegion, Account: testAccount, BackendSecurityGroup: a.backendSecurityGroup,
		Subnets: map[string]observed.SubnetAnswer{}, SecurityGroups: map[string]observed.SecurityGroupAnswer{}, Schemes: map[string]model.Scheme{}, TargetGroups: map[string]string{},
		AddOns: f.AddOns, WebACLs: map[string]observed.WebACL{}, TrustStores: map[string]string{}, ALBTargets: f.ALBTargets,
		OwnCertificates: f.OwnCertificates, Validations: map[string]observed.Validation{}, CertificateOwners: map[string]observed.CertificateOwner{}, Health: map[string]observed.Health{},
	}
	if f.AddOns == nil {
		f.AddOns, f.ALBTargets = map[string]observed.AddOn{}, map[string][]observed.Target{}
	}
	for _, q := range questions {
		a.answerQuestion(&have, q)
	}
	a.stacks[id] = have
	return have, nil
}

func (a *FakeAWS) answerQuestion(have *observed.Stack, q model.Question) {
	f := &have.Facts
	switch q := q.(type) {
	case model.AskAdopted, model.AskBackendSecurityGroup, model.AskComparison, model.AskListings, model.AskSecurityGroups, model.AskAttributes:
	case model.AskScheme:
		for _, lb := range a.stacks[q.Of].LoadBalancers {
			if lb.DNSName == q.DNSName {
				f.Schemes[q.Key()] = lb.Scheme
			}
		}
	case model.AskVPC:
		f.VPCRanges = []string{"10.0.0.0/16", "2001:db8::/56"}
	case model.AskSubnets:
		f.Subnets[q.Key()] = observed.SubnetAnswer{Candidates: subnetsOf(q)}
	case model.AskNamedSecurityGroups:
		answer := observed.SecurityGroupAnswer{ByName: map[string][]string{}}
		for _, ref := range q.List {
			if strings.HasPrefix(ref, "sg-") {
				answer.ByID = append(answer.ByID, ref)
			} else {
				answer.ByName[ref] = []string{"sg-named-" + ref}
			}
		}
		f.SecurityGroups[q.Key()] = answer
	case model.AskCertificates:
		f.CertificatesAsked = true
		for name, domain := range map[string]string{"example.com": "example.com", "app.test": "app.test", "1": "one.test"} {
			f.Certificates = append(f.Certificates, observed.Certificate{
				ARN: arn("acm", "certificate/"+name), Status: observed.CertificateIssued, Domains: []string{domain, "*." + domain},
			})
		}
		slices.SortFunc(f.Certificates, func(a, b observed.Certificate) int { return strings.Compare(a.ARN, b.ARN) })
	case model.AskCertificateOwner:
		f.CertificateOwners[q.ARN] = observed.CertificateOwner{}
	case model.AskOwnCertificates:
		f.OwnCertificatesAsked = true
	case model.AskHostedZones:
		f.HostedZones = &observed.HostedZones{Zones: []observed.HostedZone{{ID: "Z1", Name: "example.com"}}}
	case model.AskPublicCertificates:
		f.PublicCertificatesAsked = true
	case model.AskValidation:
		f.Validations[q.ARN] = observed.Validation{InUse: true}
	case model.AskTargetGroup:
		f.TargetGroups[q.Ref] = q.Ref
		if !strings.HasPrefix(q.Ref, "arn:") {
			f.TargetGroups[q.Ref] = arn("elasticloadbalancing", "targetgroup/"+q.Ref+"/1")
		}
	case model.AskHealth:
		f.Health[q.ARN] = observed.Health{Targets: []*observed.Target{{ID: "target", Port: 80, State: "healthy"}}}
	case model.AskAddOn:
		if _, known := f.AddOns[q.Key()]; !known {
			f.AddOns[q.Key()] = observed.AddOn{}
		}
	case model.AskWebACL:
		f.WebACLs[q.Name] = observed.WebACL{ARN: arn("wafv2", "regional/webacl/"+q.Name+"/1")}
	case model.AskSubscription:
		f.Subscription = &observed.Subscription{Active: true}
	case model.AskTrustStores:
		for _, name := range q.Names {
			f.TrustStores[name] = arn("elasticloadbalancing", "truststore/"+name+"/1")
		}
	case model.AskALBTargets:
		if _, known := f.ALBTargets[q.ARN]; !known {
			f.ALBTargets[q.ARN] = nil
		}
	case model.AskCapacity:
		for i := range have.LoadBalancers {
			if lb := &have.LoadBalancers[i]; lb.ARN == q.ARN && lb.Capacity == nil {
				lb.Capacity = new(int32)
			}
		}
	default:
		a.t.Errorf("no answer to %T", q)
	}
}

// subnetsOf returns the subnets that a question names, each in another Availability Zone. If it names none, subnetsOf
// returns two subnets.
func subnetsOf(q model.AskSubnets) []observed.Subnet {
	refs := []string{"subnet-a", "subnet-b"}
	if q.Refs != "" {
		refs = strings.Split(q.Refs, ",")
	}
	out := make([]observed.Subnet, len(refs))
	for i, ref := range refs {
		zone := string(rune('a' + i))
		out[i] = observed.Subnet{
			ID: ref, Zone: testRegion + zone, ZoneID: "usw2-az" + fmt.Sprint(i+1), ZoneType: "availability-zone", FreeIPs: 100,
			CIDR: fmt.Sprintf("10.0.%d.0/24", i), IPv6CIDRs: []string{fmt.Sprintf("2001:db8:0:%d::/64", i)},
		}
		if !strings.HasPrefix(ref, "subnet-") {
			out[i].ID, out[i].Name = "subnet-named-"+ref, ref
		}
	}
	return out
}

// Apply implements engine.Cloud.
func (a *FakeAWS) Apply(_ context.Context, id model.StackID, s plan.Step, known plan.KnownIDs) (plan.StepResult, error) {
	have := plantest.Simulate(a.stacks[id], known, []plan.Step{s})
	a.stacks[id], a.backendSecurityGroup = have, have.Facts.BackendSecurityGroup
	out := plan.StepResult{ID: s.Address.String()}
	if i := slices.IndexFunc(have.LoadBalancers, func(lb observed.LoadBalancer) bool { return lb.ARN == out.ID }); i >= 0 {
		out.DNSName = have.LoadBalancers[i].DNSName
	}
	return out, nil
}

// Class implements engine.Cloud.
func (a *FakeAWS) Class(error) failure.Class { return failure.Unknown }
