package adversary

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// move is a single action of the attacker. Each move can be removed from a history.
type move struct {
	// object is an object to create or change, documents has several of them as YAML, and deletedRef names an object to
	// delete.
	object     cluster.Object
	documents  string
	deletedRef cluster.Ref
	// removesFinalizers removes the controller's finalizers from the written objects.
	removesFinalizers bool
	// wait is the time until the next move.
	wait time.Duration
}

func (m move) String() string {
	what := fmt.Sprintf("delete %s %s", m.deletedRef.Kind, m.deletedRef.Name)
	switch {
	case m.object != nil:
		what = "write " + textOf(m.object)
	case m.documents != "":
		what = "write " + strings.TrimSpace(m.documents)
	}
	if n := len(what); n > 4000 {
		what = what[:4000] + fmt.Sprintf("… (%d bytes)", n)
	}
	if m.removesFinalizers {
		what += "\n(without the controller's finalizers)"
	}
	return fmt.Sprintf("%s\nand wait %v", what, m.wait)
}

// victimTargetGroup matches placeholders for target groups of the victims in objects of the attacker: "$TGARN0" for
// the ARN and "$TGNAME0" for the name of the first one, and so on.
var victimTargetGroup = regexp.MustCompile(`\$TG(ARN|NAME)(\d)`)

// attack makes a move of the attacker.
func (w *testCluster) attack(m move) {
	switch {
	case m.object != nil:
		w.putAsOwner(w.replacePlaceholders(m.object), m.removesFinalizers)
		return
	case m.documents == "":
		w.rights.endMembership(m.deletedRef)
		_ = w.Store.Delete(m.deletedRef) // it may not exist
		return
	}
	loaded, err := cluster.LoadYAML([]byte(w.placeholders(m.documents)))
	if err != nil {
		w.rec.Fatalf("%v in a move of the attacker:\n%.3000s", err, m.documents)
	}
	for _, obj := range loaded.Objects {
		w.putAsOwner(obj, m.removesFinalizers)
	}
}

// textOf returns an object as readable text.
func textOf(obj cluster.Object) string {
	kind, _ := cluster.KindOf(obj)
	data, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return err.Error()
	}
	delete(fields, "status")
	if meta, ok := fields["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
		delete(meta, "namespace")
	}
	fields["kind"] = string(kind)
	if data, err = json.MarshalIndent(fields, "", " "); err != nil {
		return err.Error()
	}
	return string(data)
}

// replacePlaceholders returns a copy of an object in which placeholders are replaced by IDs and ARNs.
func (w *testCluster) replacePlaceholders(obj cluster.Object) cluster.Object {
	kind, _ := cluster.KindOf(obj)
	typ, _ := cluster.TypeOf(kind)
	data, err := json.Marshal(obj)
	out := typ.New()
	if err == nil {
		err = json.Unmarshal([]byte(w.placeholders(string(data))), out)
	}
	if err != nil {
		w.rec.Fatal(err)
	}
	out.GetObjectKind().SetGroupVersionKind(typ.GVK)
	return out
}

// attackWith makes moves that write objects, one after the other.
func (w *testCluster) attackWith(docs ...string) {
	for _, d := range docs {
		w.attack(move{documents: d})
	}
}

func (w *testCluster) placeholders(text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	text = victimTargetGroup.ReplaceAllStringFunc(text, func(s string) string {
		part := victimTargetGroup.FindStringSubmatch(s)
		names := w.targetGroupNames()
		name := names[int(part[2][0]-'0')%len(names)]
		if part[1] == "NAME" {
			return name
		}
		return w.targetGroupARN(name)
	})
	return w.placeholderReplacer.Replace(text)
}

// targetGroupNames returns all names that the victims' target groups have at some time, in order, and a name without a
// target group. Every tenant can compute these names.
func (w *testCluster) targetGroupNames() []string {
	known := map[string]bool{}
	if w.comparison != nil {
		for _, e := range w.comparison.baseline.factsAfterActs {
			for name := range e.targets {
				known[name] = true
			}
		}
	}
	var out []string
	for name := range known {
		out = append(out, name)
	}
	slices.Sort(out)
	return append(out, "k8s-none")
}

func (w *testCluster) targetGroupARN(name string) string {
	p, unlock := w.partition()
	defer unlock()
	for arn, g := range p.ELB.TargetGroups {
		if g.Name == name {
			return arn
		}
	}
	return "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/" + name + "/0123456789abcdef"
}

// putAsOwner creates an object, or replaces the fields that its owner may replace. The controller's finalizers are kept
// unless strip is set.
func (w *testCluster) putAsOwner(obj cluster.Object, strip bool) {
	ref := cluster.RefOf(obj)
	if ref.Namespace != attackerNamespace && !(w.access == classOwner && ref.Namespace == "" && ref.Name == attackerClass) {
		w.rec.Fatalf("the attacker may not write %s", ref)
	}
	cur, err := w.Store.Get(ref)
	if err != nil {
		w.rec.Fatal(err)
	}
	obj.SetUID("")
	if cur == nil {
		if err := w.Store.Put(obj); err != nil {
			w.rec.Fatal(err)
		}
	} else {
		next := obj.DeepCopyObject().(cluster.Object)
		if !strip {
			finalizers := slices.Concat(cur.GetFinalizers(), obj.GetFinalizers())
			slices.Sort(finalizers)
			next.SetFinalizers(slices.Compact(finalizers))
		}
		next.SetResourceVersion("")
		if _, err := w.Store.Update(next, cluster.MainPart); err != nil {
			w.rec.Fatal(err)
		}
		if hasStatus(next) {
			if _, err := w.Store.Update(next, cluster.StatusPart); err != nil {
				w.rec.Fatal(err)
			}
		}
	}
	w.rights.recordObject(obj)
}

// hasStatus reports whether an object has a status that replaces the current one.
func hasStatus(obj cluster.Object) bool {
	switch o := obj.(type) {
	case *corev1.Pod:
		return true
	case *networkingv1.Ingress:
		return len(o.Status.LoadBalancer.Ingress) > 0
	case *elbv2.TargetGroupBinding:
		return len(o.Status.Conditions) > 0
	}
	return false
}

// membership is a version of an Ingress of the attacker and the time in which it existed.
type membership struct {
	ing         *networkingv1.Ingress
	stack       string // the victims' stack in which it is accepted, or "" for none
	from, until time.Time
}

// attackerRights are what the attacker is entitled to: membership in stacks of the victims, and ports that it opens in
// security groups that its targets share with those of the victims.
type attackerRights struct {
	setup
	store        *cluster.Memory
	memberships  []membership
	openedPorts  map[openedPort]bool // ports that the attacker opens for its targets
	exposedPorts map[int32]bool      // ports of its targets that it exposes with NLBs
}

// recordObject records an object of the attacker that may entitle it to membership or open ports.
func (a *attackerRights) recordObject(obj cluster.Object) {
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		a.endMembership(cluster.RefOf(o))
		a.memberships = append(a.memberships, membership{ing: o, stack: a.acceptingStack(o), from: time.Now()})
	case *networkingv1.IngressClass, *elbv2.IngressClassParams:
		for i, m := range a.memberships {
			if stack := a.acceptingStack(m.ing); m.until.IsZero() && stack != m.stack {
				a.memberships[i].until = time.Now()
				a.memberships = append(a.memberships, membership{ing: m.ing, stack: stack, from: time.Now()})
			}
		}
	case *elbv2.TargetGroupBinding:
		a.recordOpenedPorts(o)
	case *corev1.Service:
		a.recordExposedPorts(o)
	}
}

// recordOpenedPorts records the ports that a binding of the attacker opens, with their sources. It opens them in the
// security groups of its targets, which the victims' nodes and pods also have.
func (a *attackerRights) recordOpenedPorts(o *elbv2.TargetGroupBinding) {
	if o.Spec.Networking == nil {
		return
	}
	for _, rule := range o.Spec.Networking.Ingress {
		var ports []int32
		for _, p := range rule.Ports {
			switch {
			case p.Port == nil: // all ports
				ports = append(ports, victimPorts...)
			case p.Port.Type == intstr.Int:
				ports = append(ports, p.Port.IntVal)
			default: // the port of its own pods
				ports = append(ports, 8080)
			}
		}
		for _, peer := range rule.From {
			if peer.IPBlock != nil {
				a.addOpenedPorts(peer.IPBlock.CIDR, ports)
			}
			if peer.SecurityGroup != nil {
				a.addOpenedPorts(peer.SecurityGroup.GroupID, ports)
			}
		}
	}
}

func (a *attackerRights) addOpenedPorts(source string, ports []int32) {
	for _, port := range ports {
		a.openedPorts[openedPort{source, port}] = true
	}
}

// openedPort is a port that is open to a source.
type openedPort struct {
	source string // CIDR or ID of a security group
	port   int32
}

func (a *attackerRights) endMembership(ref cluster.Ref) {
	for i, m := range a.memberships {
		if m.until.IsZero() && cluster.RefOf(m.ing) == ref {
			a.memberships[i].until = time.Now()
		}
	}
}

// hasOpened reports whether the attacker has opened a port of its own targets to a source, as every tenant with write
// access to TargetGroupBindings can.
func (a *attackerRights) hasOpened(source string, port int32) bool {
	return a.openedPorts[openedPort{source, port}]
}

// finalizerOf returns the finalizer of the members of an IngressGroup.
func finalizerOf(group string) string { return naming.ExplicitFinalizerPrefix + group }
