package explain

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// The maximum numbers of items that text output shows for a resource or object. Documents contain all items.
const (
	maxSubnets       = 20
	maxOtherFindings = 10
	maxWarnings      = 5
	maxSteps         = 20
)

// showDocument prints the decisions about an object.
func showDocument(w io.Writer, doc Document) {
	ref := finding.Ref(doc.Object)
	fmt.Fprintln(w, ref)
	if doc.NotServed != "" {
		fmt.Fprintf(w, "  no load balancer of this controller serves it; %s\n", doc.NotServed)
	}
	for _, s := range doc.Stacks {
		fmt.Fprintln(w)
		showExplainedStack(w, s)
	}
	for _, b := range doc.Bindings {
		fmt.Fprintln(w)
		showExplainedBinding(w, b)
	}
	if len(doc.Warnings) > 0 {
		fmt.Fprintln(w, "\nwarnings about the object, newest first")
	}
	output.ShowFirst(doc.Warnings, maxWarnings, func(x warningDocument) { fmt.Fprintf(w, "  %s\n", x) }, output.ShowMore(w, "  … and %d more"))
}

// showExplainedStack prints the choices of the plan of a stack.
func showExplainedStack(w io.Writer, s explainedStack) {
	resource := "load balancer"
	if model.Kind(s.Kind).HasAccelerator() {
		resource = "accelerator"
	}
	fmt.Fprintf(w, "%s of %s %s", resource, model.Kind(s.Kind).ObjectKind(), s.ID)
	if s.Held {
		fmt.Fprint(w, ": held; only what is no longer permitted is removed or answers 404")
	}
	fmt.Fprintf(w, "\n  plan: %s\n", s.Summary)
	for _, f := range s.Findings {
		fmt.Fprintf(w, "# %s\n", f)
		if f.WayOut != "" {
			fmt.Fprintf(w, "#   fix: %s\n", f.WayOut)
		}
	}
	output.ShowFirst(s.Others, maxOtherFindings, func(f explainedFinding) { fmt.Fprintf(w, "# %s\n", f) }, output.ShowMore(w, "# … and %d more about other objects"))
	fmt.Fprintln(w, "  members")
	output.ShowFirst(s.Members, output.MaxShownMembers, func(m explainedMember) { fmt.Fprintf(w, "    %s: %s\n", finding.Ref(m.Object), m.State) }, output.ShowMore(w, "    … and %d more"))
	for _, lb := range s.LoadBalancers {
		showExplainedLoadBalancer(w, lb)
	}
	if s.Accelerator != nil {
		showExplainedAccelerator(w, s.Accelerator)
	}
	output.ShowFirst(s.TargetGroups, tree.MaxTargetGroups, tree.TextWriter{W: w}.WriteTargetGroup, output.ShowMore(w, "  … and %d more target groups"))
}

// String returns the finding in one line.
func (f explainedFinding) String() string {
	field := ""
	if f.Field != "" {
		field = " " + f.Field
	}
	return finding.EscapeNonPrintable(fmt.Sprintf("%s %s %s%s: %s", f.Severity, f.Reason, finding.Ref(f.Object), field, f.Message))
}

// showExplainedLoadBalancer prints the choices of a plan for a load balancer.
func showExplainedLoadBalancer(w io.Writer, lb explainedLoadBalancer) {
	state := "not in AWS"
	if lb.ARN != "" {
		state = strings.TrimSuffix(lb.Status+", "+lb.DNSName, ", ")
	}
	fmt.Fprintf(w, "  %s load balancer %s, %s\n", lb.Type, lb.Name, state)
	fmt.Fprintf(w, "    scheme %s, from %s\n", lb.Scheme, lb.SchemeFrom)
	from := ""
	if lb.Subnets.From != "" {
		from = ", from " + lb.Subnets.From
	}
	fmt.Fprintf(w, "    subnets, %s%s\n", map[string]string{
		"kept": "those that the load balancer has", "named": "named", "tagged": "by tags", "discovered": "by the role tag", "discovered by routes": "by their routes, as none has the role tag",
	}[lb.Subnets.How], from)
	output.ShowFirst(lb.Subnets.Chosen, maxSubnets, func(s explainedSubnet) { fmt.Fprintln(w, strings.TrimRight("      "+s.ID+" "+s.Zone, " ")) }, output.ShowMore(w, "      … and %d more"))
	output.ShowFirst(lb.Subnets.Refused, maxSubnets, func(s explainedSubnet) {
		fmt.Fprintf(w, "      not %s: %s\n", strings.TrimRight(s.ID+" "+s.Zone, " "), s.Why)
	}, output.ShowMore(w, "      … and %d more that were refused"))
	if len(lb.SecurityGroups) > 0 {
		fmt.Fprintln(w, "    security groups")
	}
	for _, g := range lb.SecurityGroups {
		fmt.Fprintf(w, "      %s: %s\n", cmp.Or(g.ID, "not created yet"), securityGroupText(g))
	}
	output.ShowFirst(lb.Listeners, tree.MaxListeners, func(l explainedListener) { showExplainedListener(w, l) }, output.ShowMore(w, "    … and %d more listeners"))
}

// securityGroupText returns the reason why a load balancer has a security group.
func securityGroupText(g explainedSecurityGroup) string {
	switch g.How {
	case resolved.SecurityGroupManaged:
		return "managed for this load balancer, with a rule for each listener"
	case resolved.SecurityGroupBackend:
		return "shared by the load balancers of the cluster; the security groups of nodes and pods allow traffic from it"
	case resolved.SecurityGroupKept:
		return "held, not changed in AWS"
	}
	return "named by " + g.From
}

// showExplainedListener prints the choices of a plan for a listener.
func showExplainedListener(w io.Writer, l explainedListener) {
	state := ""
	switch {
	case !l.Made && l.InAWS:
		state = ": held, not changed in AWS"
	case !l.Made:
		state = ": not created, see the findings"
	case !l.InAWS:
		state = ": not in AWS yet"
	}
	fmt.Fprintf(w, "    listener %s:%d%s\n", l.Protocol, l.Port, state)
	output.ShowFirst(l.Certificates, tree.MaxCertificates, func(c explainedCertificate) { fmt.Fprintf(w, "      certificate %s\n", certificateText(c)) },
		output.ShowMore(w, "      … and %d more certificates"))
	output.ShowFirst(l.Rules, tree.MaxRules, func(r explainedRule) { fmt.Fprintf(w, "      %s\n", ruleText(r)) }, output.ShowMore(w, "      … and %d more rules"))
	// A listener of an NLB has no default action to show until it is created. A listener of an ALB shows its desired default
	// action even if it is not created.
	if isALB := strings.HasPrefix(l.Protocol, "HTTP"); l.Default != "" && (l.Made || l.InAWS || isALB) {
		from := ""
		if l.DefaultFrom != "" {
			from = "   from " + l.DefaultFrom
		}
		fmt.Fprintf(w, "        otherwise -> %s%s\n", l.Default, from)
	}
}

// certificateText returns a certificate as text, with the way in which it was found.
func certificateText(c explainedCertificate) string {
	text := cmp.Or(c.ARN, "missing")
	if c.Default {
		text += " (default)"
	}
	switch c.How {
	case resolved.CertificateByHost:
		if c.ARN == "" {
			return fmt.Sprintf("missing: no certificate in ACM covers host %s   from %s", c.Host, c.From)
		}
		return fmt.Sprintf("%s, found in ACM for host %s   from %s", text, c.Host, c.From)
	case resolved.CertificateManaged:
		if c.Secret != "" {
			return fmt.Sprintf("%s, imported from Secret %s   from %s", text, c.Secret, c.From)
		}
		return text + ", requested or imported   from " + c.From
	case resolved.CertificateKept:
		return text + ", kept because a part of the desired state is held"
	}
	return text + ", configured explicitly   from " + c.From
}

func ruleText(r explainedRule) string {
	mark, priority := " ", "-"
	if r.Own {
		mark = ">"
	}
	if r.Priority > 0 {
		priority = fmt.Sprint(r.Priority)
	}
	text := fmt.Sprintf("%s %s %s -> %s   from %s", mark, priority, r.Conditions, cmp.Or(r.Actions, "?"), r.From)
	if r.Note != "" {
		text += "   " + r.Note
	}
	return text
}

// showExplainedBinding prints a TargetGroupBinding with its endpoints and steps.
func showExplainedBinding(w io.Writer, b explainedBinding) {
	fmt.Fprintf(w, "TargetGroupBinding %s/%s\n  target group %s\n  targets of type %s from Service %s\n", b.Namespace, b.Name, finding.EscapeNonPrintable(b.TargetGroup), b.TargetType, finding.EscapeNonPrintable(b.Service))
	for _, f := range b.Findings {
		fmt.Fprintf(w, "# %s\n", explainedFinding{Finding: f})
	}
	switch {
	case b.Endpoints == nil:
		fmt.Fprintln(w, "  its endpoints cannot be determined from the objects that were read")
	case len(b.Endpoints) == 0:
		fmt.Fprintln(w, "  the Service has no endpoints")
	default:
		fmt.Fprintf(w, "  endpoints: %s\n", output.JoinFirst(b.Endpoints))
	}
	if len(b.Steps) == 0 {
		fmt.Fprintln(w, "  no changes")
	}
	output.ShowFirst(b.Steps, maxSteps, func(s output.Step) { fmt.Fprintf(w, "  %s   # %s\n", s.ID, s.Why) }, output.ShowMore(w, "  … and %d more steps"))
}
