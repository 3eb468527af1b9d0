package accelerator

//lint:file-ignore SA1019 Endpoints objects are read where --enable-endpoint-slices=false asks for them.

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// With the annotation fulcrum.dev/traffic-dial on a GlobalAccelerator, the traffic dial of an endpoint group follows the
// percentage of its targets that are ready.

const (
	// defaultDialFloor is the lowest value of a traffic dial, and defaultDialStep the maximum change of a traffic dial in
	// one step, both in percent.
	defaultDialFloor = 10
	defaultDialStep  = 20
	// percentageRounding is the multiple to which the percentage of ready targets is rounded up. Rounding prevents changes
	// of the traffic dial when a few pods start or stop.
	percentageRounding = 10
)

// dialRule is the parsed annotation for traffic dials. floor and step are in percent.
type dialRule struct {
	// invalid reports whether the annotation is invalid. Then the current traffic dials in AWS are not changed.
	invalid     bool
	floor, step int32
}

// targetCounts has the number of targets of an endpoint group, by Service as "namespace/name".
type targetCounts map[string]targetCount

// targetCount is the number of ready targets and the number of all targets.
type targetCount struct{ ready, all int }

// dialBuilder computes the traffic dials of endpoint groups from the numbers of their targets.
type dialBuilder struct{ *translation }

// parseDialRule returns the parsed annotation, or nil if the object does not have it. It reports an invalid annotation.
func (t dialBuilder) parseDialRule() *dialRule {
	text, given := t.ga.Annotations[naming.DialAnnotation]
	if !given {
		return nil
	}
	out := &dialRule{floor: defaultDialFloor, step: defaultDialStep}
	parts := strings.Split(finding.Truncate(text, maxARNLength), ",")
	if strings.TrimSpace(parts[0]) != naming.DialOfReadyTargets {
		out.invalid = true
	}
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
		out.invalid = out.invalid || err != nil || n < 1 || n > defaultTrafficDial
		switch strings.TrimSpace(name) {
		case "floor":
			out.floor = int32(n)
		case "step":
			out.step = int32(n)
		default:
			out.invalid = true
		}
	}
	if out.invalid {
		t.reportFault(naming.DialAnnotation, finding.SpecInvalid, finding.Error,
			fmt.Sprintf("%q is not a valid rule for traffic dials; the dials stay unchanged", finding.TruncateValue(text)),
			fmt.Sprintf("write %s,floor=%d,step=%d, each from 1 to 100; floor and step are optional", naming.DialOfReadyTargets, defaultDialFloor, defaultDialStep))
	}
	return out
}

// countTargets adds the targets of an endpoint to the counts of its endpoint group. obj is the object of the endpoint,
// stacks are the stacks of its load balancers. countTargets ignores TargetGroupBindings in other namespaces than that of
// obj, because other tenants write them.
func (t dialBuilder) countTargets(group string, obj cluster.Object, stacks []model.StackID) {
	if t.dial == nil || t.dial.invalid {
		return
	}
	if t.targets == nil {
		t.targets = map[string]targetCounts{}
	}
	if t.targets[group] == nil {
		t.targets[group] = targetCounts{}
	}
	for _, id := range stacks {
		for _, b := range cluster.List[*elbv2.TargetGroupBinding](t.view, ownership.BindingsOf(id)) {
			service := b.Namespace + "/" + b.Spec.ServiceRef.Name
			if _, counted := t.targets[group][service]; b.Namespace == obj.GetNamespace() && !counted {
				t.targets[group][service] = t.countPods(b.Namespace, b.Spec.ServiceRef.Name)
			}
		}
	}
}

// countPods returns the number of ready pods of a Service, and the number of all pods of the Service that have an
// address and are not terminating.
func (t dialBuilder) countPods(namespace, service string) (out targetCount) {
	if t.opt.ReadEndpoints {
		obj, ok := cluster.Get[*corev1.Endpoints](t.view, cluster.KindEndpoints, namespace, service) //nolint:staticcheck // see above
		for i := 0; ok && i < len(obj.Subsets); i++ {
			out.ready += len(obj.Subsets[i].Addresses)
			out.all += len(obj.Subsets[i].Addresses) + len(obj.Subsets[i].NotReadyAddresses)
		}
		return out
	}
	for _, s := range cluster.List[*discoveryv1.EndpointSlice](t.view, cluster.EndpointSlicesOf(namespace, service)) {
		for _, e := range s.Endpoints {
			switch {
			case e.Conditions.Terminating != nil && *e.Conditions.Terminating:
				continue
			case e.Conditions.Ready == nil || *e.Conditions.Ready:
				out.ready++
			}
			out.all++
		}
	}
	return out
}

// setDialRule sets the DialRule of an endpoint group from the counts of its targets. The traffic dial in the spec is the
// maximum. If the annotation is invalid, setDialRule sets DialHeld instead.
func (t dialBuilder) setDialRule(g *model.EndpointGroup) {
	switch counted := t.targets[g.ID]; {
	case t.dial == nil:
	case t.dial.invalid:
		g.DialHeld = true
	case len(counted) > 0:
		var sum targetCount
		for _, s := range counted {
			sum.ready += s.ready
			sum.all += s.all
		}
		g.DialRule = &model.DialRule{Dial: g.Dial, Step: t.dial.step}
		if sum.all > 0 { // without targets, only the health checks of AWS stop the traffic
			percent := (100*sum.ready + sum.all*percentageRounding - 1) / (sum.all * percentageRounding) * percentageRounding
			g.DialRule.Dial = min(g.Dial, max(int32(percent), t.dial.floor))
		}
	}
}
