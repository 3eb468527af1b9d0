package tree

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// NewGet returns the command get.
func NewGet(env output.Environment) *cobra.Command {
	g := &getCommand{treeCommand{Source: input.Source{Env: env}}}
	cmd := &cobra.Command{
		Use: "get [KIND/NAME ...]", Short: "List load balancers and accelerators, one line for each",
		Long: `get lists the load balancers and accelerators of the objects, one line for each: the object, IngressGroup or load balancer group of Services that it
belongs to, its DNS name, its state in AWS, how many of its targets are healthy, the errors and warnings about its
objects, and the age of its oldest object. Targets of an accelerator are its endpoints. It changes nothing.
"fulcrum tree" shows what is in them.

The state is that of AWS (provisioning, active, active_impaired, failed; IN_PROGRESS or DEPLOYED for accelerators),
"missing" if the load balancer is not created yet, or "surplus" if the controller deletes it.`,
		ValidArgsFunction: g.CompleteObjects,
	}
	g.Bind(cmd)
	g.BindOffline(cmd)
	g.form.Bind(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return g.run(cmd, args) }
	return cmd
}

// getCommand has the flags of the command get.
type getCommand struct{ treeCommand }

// GetDocument is the output of the command get as JSON or YAML.
type GetDocument struct {
	Cluster string `json:"cluster"`
	// LoadBalancers are the load balancers and accelerators. A stack that has neither has one entry without a name.
	LoadBalancers []getDocumentEntry `json:"loadBalancers"`
}

// getDocumentEntry is a load balancer or an accelerator with its stack.
type getDocumentEntry struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Name is the name of the load balancer or accelerator. It is missing if none exists or is desired.
	Name string `json:"name,omitempty"`
	// Type is application, network or accelerator.
	Type    string `json:"type,omitempty"`
	DNSName string `json:"dnsName,omitempty"`
	// State is the state that AWS shows, such as active or DEPLOYED. It is "missing" if the load balancer is not created
	// yet, and "surplus" if the controller deletes it.
	State string `json:"state,omitempty"`
	// Healthy counts the healthy targets. It is null if their health is not known.
	Healthy *int `json:"healthy"`
	// Targets counts the targets of the target groups that the load balancer forwards to, or the endpoints of an
	// accelerator. It is null if Healthy is null.
	Targets *int `json:"targets"`
	// Errors counts the findings about the objects with severity error.
	Errors int `json:"errors"`
	// Warnings counts the findings about the objects with severity warning.
	Warnings int `json:"warnings"`
	// Created is the creation time of the oldest object of the stack.
	Created string `json:"created,omitempty"`
}

func (g *getCommand) run(cmd *cobra.Command, args []string) error {
	if err := g.form.Check(); err != nil {
		return err
	}
	if err := g.Parse(args, g.NamespaceOfObjects()); err != nil {
		return err
	}
	tree, err := g.buildDocument(cmd.Context(), cmd.InOrStdin(), g.form.NotesWriter())
	if err != nil {
		return err
	}
	doc := GetDocument{Cluster: tree.Cluster, LoadBalancers: []getDocumentEntry{}}
	for _, s := range tree.Stacks {
		doc.LoadBalancers = append(doc.LoadBalancers, g.entries(s)...)
	}
	if !g.form.IsText() {
		input.ShowUnservedFileObjects(g.form.NotesWriter(), &g.Source, g.store)
		return g.form.PrintDocument(doc)
	}
	defer input.ShowUnservedFileObjects(g.form.Out(), &g.Source, g.store)
	if len(doc.LoadBalancers) == 0 {
		fmt.Fprintln(g.form.Out(), NoStacksText)
		g.ReportUnservedNamedObjects(g.form.Out(), g.store)
		return nil
	}
	return doc.writeTable(g.form.Out(), g.Env.Time())
}

// entries returns an entry for each load balancer and accelerator of a stack. If the stack has neither, it returns one entry
// without a name.
func (g *getCommand) entries(s Stack) []getDocumentEntry {
	base := getDocumentEntry{Kind: s.Kind, ID: s.ID, Created: g.oldestCreation(s)}
	for _, f := range s.Findings {
		if f.Severity == "error" {
			base.Errors++
		} else {
			base.Warnings++
		}
	}
	var out []getDocumentEntry
	for _, lb := range s.LoadBalancers {
		entry := base.withTargetsOf(s.TargetGroups, lb.forwardedTargetGroups)
		entry.Name, entry.Type, entry.DNSName, entry.State = lb.Name, lb.Type, lb.DNSName, lb.stateText(lb.Status)
		out = append(out, entry)
	}
	for _, a := range s.Accelerators {
		out = append(out, a.getEntry(base))
	}
	if len(out) == 0 {
		out = append(out, base.withTargetsOf(nil, nil))
	}
	return out
}

// stateText returns the state of a resource in the document of the command get. status is the state that AWS shows.
func (c comparison) stateText(status string) string {
	if c.State == stateMissing || c.State == stateSurplus {
		return string(c.State)
	}
	return status
}

// withTargetsOf returns the entry with the number of targets in those target groups whose ARN is in arns.
func (lb getDocumentEntry) withTargetsOf(groups []TargetGroup, arns map[string]bool) getDocumentEntry {
	if healthy, targets, known := countTargets(groups, arns); known {
		lb.Healthy, lb.Targets = &healthy, &targets
	}
	return lb
}

// countTargets counts the registered targets in those target groups whose ARN is in arns. known is false if the health of
// one of these target groups is not known, or if one of them is not in groups, because it belongs to another owner.
func countTargets(groups []TargetGroup, arns map[string]bool) (healthy, all int, known bool) {
	found := 0
	for _, g := range groups {
		if !arns[g.ARN] {
			continue
		}
		found++
		if g.Targets == nil {
			return 0, 0, false
		}
		for _, t := range g.Targets {
			if t.Compared == stateMissing {
				continue
			}
			all++
			if t.State == "healthy" {
				healthy++
			}
		}
	}
	return healthy, all, found == len(arns)
}

// oldestCreation returns the creation time of the oldest member of a stack in RFC 3339. It returns "" if no cluster was
// read.
func (g *getCommand) oldestCreation(s Stack) string {
	var oldest time.Time
	for _, m := range s.Members {
		obj, err := g.store.Get(finding.Ref(m))
		if err != nil || obj == nil || !g.ClusterRead {
			continue
		}
		if at := obj.GetCreationTimestamp().Time; oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	if oldest.IsZero() {
		return ""
	}
	return oldest.UTC().Format(time.RFC3339)
}

// writeTable writes the document as a table. now is the current time, for the ages of objects.
func (doc GetDocument) writeTable(w io.Writer, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "OF\tDNS NAME\tSTATE\tTARGETS\tFINDINGS\tAGE")
	for _, lb := range doc.LoadBalancers {
		targets := "?"
		if lb.Targets != nil {
			targets = fmt.Sprintf("%d/%d healthy", *lb.Healthy, *lb.Targets)
		}
		var findings []string
		if lb.Errors > 0 {
			findings = append(findings, output.CountWithNoun(lb.Errors, "error"))
		}
		if lb.Warnings > 0 {
			findings = append(findings, output.CountWithNoun(lb.Warnings, "warning"))
		}
		age := "-"
		if at, err := time.Parse(time.RFC3339, lb.Created); err == nil {
			age = duration.HumanDuration(now.Sub(at))
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s\t%s\t%s\n", model.Kind(lb.Kind).ObjectKind(), lb.ID, cmp.Or(lb.DNSName, "-"), cmp.Or(lb.State, "-"), targets,
			cmp.Or(strings.Join(findings, ", "), "-"), age)
	}
	return t.Flush()
}
