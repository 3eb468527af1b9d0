package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// stateKinds are the kinds of objects that determine the state of a move. If objects of one of these kinds cannot be read,
// the state is not known.
var stateKinds = slices.Concat([]cluster.Kind{
	cluster.KindIngress, cluster.KindIngressClass, cluster.KindIngressClassParams, cluster.KindService, cluster.KindNamespace, cluster.KindBinding,
	cluster.KindGatewayClass, cluster.KindGateway, cluster.KindListenerSet, cluster.KindReferenceGrant,
	cluster.KindLoadBalancerConfiguration, cluster.KindTargetGroupConfiguration, cluster.KindListenerRuleConfiguration,
}, cluster.RouteKinds)

// unreadableReason returns a text with those of the stateKinds that the user may not list, or "" if the user may list all.
func (s *statusCommand) unreadableReason() string {
	const fix = "; bind the rules of config/rbac with the verbs get and list to the user or role that runs this command"
	names := func(kinds []cluster.Kind) string {
		var out []string
		for _, k := range kinds {
			out = append(out, string(k))
		}
		return output.JoinFirst(out)
	}
	if kinds := input.UnavailableKinds(&s.Source, stateKinds...); len(kinds) > 0 {
		return "you have no permission to list " + names(kinds) + fix
	}
	if kinds := input.NamespaceOnlyKinds(&s.Source, stateKinds...); len(kinds) > 0 {
		return fmt.Sprintf("you may list %s in one namespace only, and objects of other namespaces may share the load balancer%s", names(kinds), fix)
	}
	return ""
}

// gateOffError returns the error for a kind of stack that is not served because its feature gate is off.
func gateOffError(kind model.Kind) error {
	gate := map[model.Kind]config.Gate{model.Service: config.EnableServiceController, model.ALBGateway: config.ALBGatewayAPI, model.NLBGateway: config.NLBGatewayAPI}[kind]
	return fmt.Errorf("feature gate %[1]s is off; set --feature-gates=%[1]s=true on the controller, or here if the controller has it", gate)
}

// contradictingStatusReason returns a message about a member whose status names a load balancer that AWS does not show with
// the tags of the stack, or "" if there is none. In that case the flags or credentials may differ from those of the
// controller, so that the observed state may be that of another cluster.
func (s *statusCommand) contradictingStatusReason(m move, members []model.Member, stacks ...observed.Stack) string {
	var names []string
	for _, have := range stacks {
		lbs := have.LoadBalancers
		if a := have.Facts.Adopter; a != nil {
			lbs = append(slices.Clone(lbs), a.LoadBalancer)
		}
		for _, lb := range lbs {
			names = append(names, strings.ToLower(lb.DNSName))
		}
	}
	for _, member := range members {
		if !member.Claimed {
			continue // another controller may have written its status
		}
		ref := member.Ref
		obj, err := s.store.Get(ref)
		if err != nil {
			continue
		}
		shown := cluster.StatusHostname(obj)
		if shown == "" || slices.Contains(names, strings.ToLower(shown)) {
			continue
		}
		has := "has none"
		if names = slices.DeleteFunc(names, func(n string) bool { return n == "" }); len(names) > 0 {
			has = "has " + output.JoinFirst(slices.Compact(names))
		}
		return fmt.Sprintf("%s shows the load balancer %q, and AWS %s with the tags of cluster %q for %s in VPC %s; the object has just changed, or these flags or credentials differ from those of the controller: check --cluster-name, --aws-region, --aws-vpc-id and AWS_PROFILE",
			ref, finding.TruncateValue(shown), has, s.Config.ClusterName, m.fromStack.Title(), s.VPC)
	}
	return ""
}

// abandonedObject returns an object that has the finalizer of a stack but is not a member of the stack, and is not being
// deleted. Such an object has another class now, or the controller that added the finalizer has other flags. desired is the
// desired state of the stack.
func (s *statusCommand) abandonedObject(from model.StackID, desired model.Stack) (cluster.Ref, bool) {
	v := cluster.NewView(s.store)
	for _, obj := range s.store.All(cluster.Kind(from.Kind)) {
		ref := cluster.RefOf(obj)
		member := slices.ContainsFunc(desired.Members, func(m model.Member) bool { return m.Ref == ref })
		if !member && obj.GetDeletionTimestamp() == nil && slices.Contains(obj.GetFinalizers(), naming.Finalizer(from)) &&
			slices.Contains(s.frontends[from.Kind].Stacks(v, obj), from) {
			return ref, true
		}
	}
	return cluster.Ref{}, false
}
