package bindings_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// classedError is an error of the fake AWS.
type classedError struct {
	class failure.Class
	text  string
}

func (e classedError) Error() string { return e.text }

// fakeAWS is an AWS in memory: target groups with targets, and security groups with rules. Registered targets have the state
// "initial" until a test changes it.
type fakeAWS struct {
	// mu is locked by each call, because runs make calls concurrently. It is not locked while a call waits for
	// holdRuleChange or holdRegister.
	mu                  sync.Mutex
	targetsByGroup      map[string][]*observed.Target
	enis                map[string][]network.ENI
	rules               map[string][]model.IngressRule
	log                 []string // every mutating call, and every read of targets that is not cached
	refusedItems        map[string]failure.Class
	readsUntilCallback  int // onSecurityGroupRead is called in the read of security groups that decrements this number to 0
	onSecurityGroupRead func()
	holdRuleChange      chan struct{} // if set, the next change of rules waits until this channel is closed
	holdRegister        chan struct{} // if set, the next registration of targets waits until this channel is closed
	maxTargets          int           // per target group; 0 for no limit
	targetGroupsInUse   map[string]bool
	ownerNamespaces     map[string]string // namespace for which the controller created a target group, by ARN
	zonesRequired       bool              // whether addresses outside the VPC require an Availability Zone
	refusals            int               // number of refused calls
	// cachedTargets are returned to callers that accept an answer older than 1 s; nil: such callers get the current targets.
	cachedTargets          []*observed.Target
	targetType             model.TargetType  // target type of all target groups; ip if empty
	addressType            model.AddressType // address type of all target groups; ipv4 if empty
	largestENIQuery        int               // the largest number of instances in one query so far
	untaggedSecurityGroups map[string]bool   // security groups without the tag of the cluster
	ruleSearches           int               // number of calls of SecurityGroupsAdmitting
	securityGroupIDs       []string          // IDs in the last call of EndpointSecurityGroups
	// store has the bindings. The settings of a target group are copied from the binding that names it, unless targetType is
	// set.
	store *cluster.Memory
}

func (a *fakeAWS) Class(err error) failure.Class {
	var c classedError
	if errors.As(err, &c) {
		return c.class
	}
	return failure.Unknown
}

func (a *fakeAWS) TargetGroupsOf(account bindings.Account) bindings.TargetGroups {
	a.mu.Lock()
	defer a.mu.Unlock()
	if account.Role != "" {
		a.log = append(a.log, "as "+account.Role+" "+string(account.ExternalID))
	}
	return a
}

func (a *fakeAWS) TargetGroup(_ context.Context, arn, name string, _ time.Duration) (bindings.TargetGroup, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, known := range slices.Sorted(maps.Keys(a.targetsByGroup)) {
		if known == arn || arn == "" && (strings.HasSuffix(known, "/"+name) || strings.Contains(known, ":targetgroup/"+name+"/")) {
			g := bindings.TargetGroup{ARN: known, Type: cmp.Or(a.targetType, model.IPTargets), Protocol: "HTTP", AddressType: cmp.Or(a.addressType, model.IPv4), VPC: "vpc-1"}
			return g, a.setFromBinding(&g)
		}
	}
	return bindings.TargetGroup{}, classedError{failure.Gone, "no such group"}
}

// setFromBinding copies the settings in the spec of the binding that names target group g to g.
func (a *fakeAWS) setFromBinding(g *bindings.TargetGroup) error {
	list, err := a.store.List(cluster.Query{Kind: cluster.KindBinding})
	for _, o := range list {
		s := o.(*elbv2.TargetGroupBinding).Spec
		if s.TargetGroupARN != g.ARN || a.targetType != "" {
			continue
		}
		g.VPC = cmp.Or(s.VpcID, g.VPC)
		if s.TargetType != nil {
			g.Type = model.TargetType(*s.TargetType)
		}
		if s.TargetGroupProtocol != nil {
			g.Protocol = string(*s.TargetGroupProtocol)
		}
		if s.IPAddressType != nil {
			g.AddressType = model.AddressType(*s.IPAddressType)
		}
	}
	return err
}

func (a *fakeAWS) IsInUse(_ context.Context, arn string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.targetsByGroup[arn]; !ok {
		return false, classedError{failure.Gone, "no such group"}
	}
	a.log = append(a.log, "in use "+shortName(arn))
	return a.targetGroupsInUse[arn], nil
}

func (a *fakeAWS) OwnerNamespaces(_ context.Context, arn string, _ bool) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if of := a.ownerNamespaces[arn]; of != "" {
		return []string{of}, nil
	}
	return nil, nil
}

func (a *fakeAWS) OwnerStack(string) (model.StackID, string, bool) { return model.StackID{}, "", false }

func (a *fakeAWS) TargetHealth(_ context.Context, arn string, maxAge time.Duration) (observed.Health, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list, ok := a.targetsByGroup[arn]
	if !ok {
		return observed.Health{}, classedError{failure.Gone, "no such group"}
	}
	if a.cachedTargets != nil && maxAge > time.Second {
		return observed.Health{Targets: copyTargets(a.cachedTargets)}, nil
	}
	a.log = append(a.log, "list "+shortName(arn))
	return observed.Health{Targets: copyTargets(list)}, nil
}

// copyTargets returns deep copies of targets, so that a test that changes a target does not change earlier answers.
func copyTargets(list []*observed.Target) []*observed.Target {
	out := make([]*observed.Target, len(list))
	for i, t := range list {
		c := *t
		out[i] = &c
	}
	return out
}

func (a *fakeAWS) Register(_ context.Context, arn string, _ bindings.CallPriority, add []bindings.Target) error {
	if wait := a.takeWait(&a.holdRegister); wait != nil {
		<-wait
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range add {
		if c, ok := a.refusedItems[t.ID]; ok {
			a.refusals++
			return classedError{c, fmt.Sprintf("refused %s, RequestID: 0e6a1b2c-0000-4000-8000-%012d", t.ID, a.refusals)}
		}
	}
	if a.maxTargets > 0 && len(a.targetsByGroup[arn])+len(add) > a.maxTargets {
		return classedError{failure.Quota, "too many targets"}
	}
	for _, t := range add {
		if a.zonesRequired && t.Zone == "all" {
			a.log = append(a.log, "refuse "+t.ID+" "+t.Zone)
			return errors.Join(bindings.ErrZoneNeeded, classedError{failure.Invalid, "you must specify an Availability Zone"})
		}
	}
	for _, t := range add {
		a.log = append(a.log, fmt.Sprintf("register %s %s:%d%s%s", shortName(arn), t.ID, t.Port, t.Zone, t.ServerID))
		a.targetsByGroup[arn] = slices.DeleteFunc(a.targetsByGroup[arn], func(o *observed.Target) bool { return o.ID == t.ID && o.Port == t.Port })
		a.targetsByGroup[arn] = append(a.targetsByGroup[arn], &observed.Target{ID: t.ID, Port: t.Port, ServerID: t.ServerID, State: "initial", Reason: "Elb.RegistrationInProgress"})
	}
	return nil
}

func (a *fakeAWS) Deregister(_ context.Context, arn string, _ bindings.CallPriority, out []*observed.Target) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range out {
		if c, ok := a.refusedItems["out "+t.ID]; ok {
			return classedError{c, "refused to take out " + t.ID}
		}
	}
	for _, t := range out {
		a.log = append(a.log, fmt.Sprintf("deregister %s %s:%d", shortName(arn), t.ID, t.Port))
		a.targetsByGroup[arn] = slices.DeleteFunc(a.targetsByGroup[arn], func(o *observed.Target) bool { return o.ID == t.ID && o.Port == t.Port })
	}
	return nil
}

func (a *fakeAWS) VPCRanges(_ context.Context, vpc string) ([]string, error) {
	if vpc == "vpc-unseen" {
		return nil, classedError{failure.Gone, "no such VPC"}
	}
	return []string{"10.0.0.0/16", "fd00::/64"}, nil
}

func (a *fakeAWS) ENIs(_ context.Context, q bindings.ENIQuery) (bindings.ENIs, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := bindings.ENIs{ByInstance: map[string][]network.ENI{}}
	a.largestENIQuery = max(a.largestENIQuery, len(q.Instances))
	for _, id := range q.Instances {
		for _, eni := range a.enis[id] {
			slices.Sort(eni.Addresses)
		}
		out.ByInstance[id] = a.enis[id]
	}
	return out, nil
}

func (a *fakeAWS) EndpointSecurityGroups(_ context.Context, ids []string, _ time.Duration) ([]bindings.EndpointSecurityGroup, error) {
	if a.countSecurityGroupRead() {
		a.onSecurityGroupRead()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.securityGroupIDs = ids
	var out []bindings.EndpointSecurityGroup
	for _, id := range slices.Sorted(maps.Keys(a.rules)) {
		if !a.untaggedSecurityGroups[id] || slices.Contains(ids, id) {
			out = append(out, bindings.EndpointSecurityGroup{ID: id, Ingress: slices.Clone(a.rules[id])})
		}
	}
	return out, nil
}

// SecurityGroupsAdmitting regards only "sg-b" as a security group of the controller.
func (a *fakeAWS) SecurityGroupsAdmitting(_ context.Context, sources []string) (map[string][]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ruleSearches++
	if c, ok := a.refusedItems["search"]; ok {
		return nil, classedError{c, "refused to search"}
	}
	out := map[string][]string{}
	for id := range a.untaggedSecurityGroups {
		if slices.Contains(sources, "sg-b") && slices.ContainsFunc(a.rules[id], func(r model.IngressRule) bool { return r.Group == "sg-b" }) {
			out[id] = []string{"sg-b"}
		}
	}
	return out, nil
}

func (a *fakeAWS) ChangedEndpointSecurityGroups(context.Context) ([]string, error) { return nil, nil }

func (a *fakeAWS) ChangeEndpointRules(_ context.Context, group string, authorize, revoke []model.IngressRule) error {
	if wait := a.takeWait(&a.holdRuleChange); wait != nil {
		<-wait
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range authorize {
		if c, ok := a.refusedItems[r.Group]; ok {
			return classedError{c, "refused " + r.Group}
		}
	}
	for _, r := range authorize {
		a.log = append(a.log, fmt.Sprintf("authorize %s %s", group, ruleText(r)))
		a.rules[group] = append(a.rules[group], r)
	}
	for _, r := range revoke {
		a.log = append(a.log, fmt.Sprintf("revoke %s %s", group, ruleText(r)))
		a.rules[group] = slices.DeleteFunc(a.rules[group], func(o model.IngressRule) bool { return o == r })
	}
	return nil
}

// takeWait returns the channel for which the next call must wait, and sets *wait to nil; nil if the call must not wait.
func (a *fakeAWS) takeWait(wait *chan struct{}) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := *wait
	*wait = nil
	return c
}

// countSecurityGroupRead counts a read of security groups, and reports whether this read calls onSecurityGroupRead.
func (a *fakeAWS) countSecurityGroupRead() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.readsUntilCallback--
	return a.readsUntilCallback == 0
}

func ruleText(r model.IngressRule) string {
	return fmt.Sprintf("%s %d-%d %s%s", r.Protocol, r.From, r.To, r.Group, r.CIDR)
}

func shortName(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// setAllStates sets the state of all targets of a target group.
func (a *fakeAWS) setAllStates(arn, state string) {
	for i := range a.targetsByGroup[arn] {
		a.targetsByGroup[arn][i].State, a.targetsByGroup[arn][i].Reason = state, ""
	}
}

// targetsOf returns the registered targets of a target group as "address:port ...", sorted.
func (a *fakeAWS) targetsOf(arn string) string {
	var out []string
	for _, t := range a.targetsByGroup[arn] {
		out = append(out, fmt.Sprintf("%s:%d", t.ID, t.Port))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (a *fakeAWS) rulesOf(group string) string {
	var out []string
	for _, r := range a.rules[group] {
		out = append(out, ruleText(r))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// takeLog returns the logged calls since the last takeLog, and clears the log.
func (a *fakeAWS) takeLog() string {
	out := strings.Join(a.log, "; ")
	a.log = nil
	return out
}
