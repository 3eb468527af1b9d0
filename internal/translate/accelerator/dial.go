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

// The traffic dial of an endpoint group follows the share of targets that are ready, where the object asks for it.

const (
	// usualFloor is how low a dial goes, usualStep how far it moves at a time, in percent.
	usualFloor = 10
	usualStep  = 20
	// grain is what the share is rounded up to, in percent, so that few pods that come and go move no traffic.
	grain = 10
)

// dialRule is how dials follow.
type dialRule struct {
	// wrong: the annotation cannot be read, and live dials stay.
	wrong       bool
	floor, step int32
}

// targetsOf are the targets of an endpoint group by their Services, "namespace/name".
type targetsOf map[string]share

type share struct{ ready, all int }

// dialBuilder finds out which traffic dials the endpoint groups of the cluster get.
type dialBuilder struct{ *translation }

// rule returns what the annotation asks for, nil if there is none.
func (t dialBuilder) rule() *dialRule {
	text, given := t.ga.Annotations[naming.DialAnnotation]
	if !given {
		return nil
	}
	out := &dialRule{floor: usualFloor, step: usualStep}
	parts := strings.Split(finding.CutTo(mostARN, text), ",")
	if strings.TrimSpace(parts[0]) != naming.DialOfReadyTargets {
		out.wrong = true
	}
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
		out.wrong = out.wrong || err != nil || n < 1 || n > usualDial
		switch strings.TrimSpace(name) {
		case "floor":
			out.floor = int32(n)
		case "step":
			out.step = int32(n)
		default:
			out.wrong = true
		}
	}
	if out.wrong {
		t.fault(naming.DialAnnotation, finding.SpecInvalid, finding.Error,
			fmt.Sprintf("%q is no rule for traffic dials; they stay as they are", finding.Cut(text)),
			fmt.Sprintf("write %s,floor=%d,step=%d, each from 1 to 100; floor and step may be left out", naming.DialOfReadyTargets, usualFloor, usualStep))
	}
	return out
}

// countTargets notes the targets of an endpoint, as far as they are in the namespace of the object that it names:
// TargetGroupBindings of other namespaces are written by others.
func (t dialBuilder) countTargets(group string, obj cluster.Object, stacks []model.StackID) {
	if t.dial == nil || t.dial.wrong {
		return
	}
	if t.targets == nil {
		t.targets = map[string]targetsOf{}
	}
	if t.targets[group] == nil {
		t.targets[group] = targetsOf{}
	}
	for _, id := range stacks {
		for _, b := range cluster.List[*elbv2.TargetGroupBinding](t.view, ownership.BindingsOf(id)) {
			service := b.Namespace + "/" + b.Spec.ServiceRef.Name
			if _, counted := t.targets[group][service]; b.Namespace == obj.GetNamespace() && !counted {
				t.targets[group][service] = t.share(b.Namespace, b.Spec.ServiceRef.Name)
			}
		}
	}
}

// share counts the pods of a Service that are ready, and all that have an address and are to stay.
func (t dialBuilder) share(namespace, service string) (out share) {
	if t.opt.Endpoints {
		obj, ok := cluster.Get[*corev1.Endpoints](t.view, cluster.KindEndpoints, namespace, service) //nolint:staticcheck // see above
		for i := 0; ok && i < len(obj.Subsets); i++ {
			out.ready += len(obj.Subsets[i].Addresses)
			out.all += len(obj.Subsets[i].Addresses) + len(obj.Subsets[i].NotReadyAddresses)
		}
		return out
	}
	for _, s := range cluster.List[*discoveryv1.EndpointSlice](t.view, cluster.SlicesOf(namespace, service)) {
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

// follow reports where the dial of an endpoint group goes. What the object gives is the most.
func (t dialBuilder) follow(g *model.EndpointGroup) {
	switch counted := t.targets[g.ID]; {
	case t.dial == nil:
	case t.dial.wrong:
		g.DialHeld = true
	case len(counted) > 0:
		var sum share
		for _, s := range counted {
			sum.ready += s.ready
			sum.all += s.all
		}
		g.Follows = &model.DialRule{Dial: g.Dial, Step: t.dial.step}
		if sum.all > 0 { // without any, health decides
			percent := (100*sum.ready + sum.all*grain - 1) / (sum.all * grain) * grain
			g.Follows.Dial = min(g.Dial, max(int32(percent), t.dial.floor))
		}
	}
}
