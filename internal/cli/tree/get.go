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
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// NewGet returns the command get.
func NewGet(env output.Environment) *cobra.Command {
	g := &getCommand{treeCommand{Source: input.Source{Env: env}}}
	cmd := &cobra.Command{
		Use: "get [KIND/NAME ...]", Short: "List load balancers and accelerators, one line for each",
		Long: `get lists the load balancers and accelerators of the objects, one line for each: the object or group that it is
of, its DNS name, its state in AWS, how many of its targets are healthy, the errors and warnings about its
objects, and the age of its oldest object. Targets of an accelerator are its endpoints. It changes nothing.
"fulcrum tree" shows what is in them.

States are AWS's own (provisioning, active, active_impaired, failed; IN_PROGRESS and DEPLOYED of accelerators),
missing for one that is not made yet, and surplus for one that the controller deletes.`,
		ValidArgsFunction: g.CompleteObjects,
	}
	g.Bind(cmd)
	g.BindOffline(cmd)
	g.form.Bind(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return g.run(cmd, args) }
	return cmd
}

// getCommand is the command get.
type getCommand struct{ treeCommand }

// GetDocument is what get prints for tools.
type GetDocument struct {
	Cluster string `json:"cluster"`
	// LoadBalancers are accelerators too.
	LoadBalancers []getLoadBalancer `json:"loadBalancers"`
}

type getLoadBalancer struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Name is the name of the load balancer; it is missing where nothing is desired or held.
	Name string `json:"name,omitempty"`
	// Type is application, network or accelerator.
	Type    string `json:"type,omitempty"`
	DNSName string `json:"dnsName,omitempty"`
	// State is AWS's word, or missing or surplus.
	State string `json:"state,omitempty"`
	// Healthy and Targets count targets of the target groups that AWS forwards to from the load balancer, or endpoints of an
	// accelerator; both are null where health is not known.
	Healthy *int `json:"healthy"`
	Targets *int `json:"targets"`
	// Errors and Warnings are findings about the objects.
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	// Created is when the oldest of the objects was created.
	Created string `json:"created,omitempty"`
}

func (g *getCommand) run(cmd *cobra.Command, args []string) error {
	if err := g.form.Check(); err != nil {
		return err
	}
	if err := g.Parse(args, g.NamespaceOfObjects()); err != nil {
		return err
	}
	all, err := g.look(cmd.Context(), cmd.InOrStdin(), g.form.Notes())
	if err != nil {
		return err
	}
	doc := GetDocument{Cluster: all.Cluster, LoadBalancers: []getLoadBalancer{}}
	for _, s := range all.Stacks {
		doc.LoadBalancers = append(doc.LoadBalancers, g.lines(s)...)
	}
	if !g.form.Text() {
		input.ShowUnserved(g.form.Notes(), &g.Source, g.store)
		return g.form.Document(doc)
	}
	defer input.ShowUnserved(g.form.Out(), &g.Source, g.store)
	if len(doc.LoadBalancers) == 0 {
		fmt.Fprintln(g.form.Out(), NoStacks)
		g.ReportUnserved(g.form.Out(), g.store)
		return nil
	}
	return doc.table(g.form.Out(), g.Env.Time())
}

// lines returns one line for each load balancer of a stack, and one for a stack without any.
func (g *getCommand) lines(s Stack) []getLoadBalancer {
	base := getLoadBalancer{Kind: s.Kind, ID: s.ID, Created: g.created(s)}
	for _, f := range s.Findings {
		if f.Severity == "error" {
			base.Errors++
		} else {
			base.Warnings++
		}
	}
	var out []getLoadBalancer
	for _, lb := range s.LoadBalancers {
		one := base.withTargetsOf(s.TargetGroups, lb.groups)
		one.Name, one.Type, one.DNSName, one.State = lb.Name, lb.Type, lb.DNSName, lb.Status
		if lb.State == missing || lb.State == surplus {
			one.State = string(lb.State)
		}
		out = append(out, one)
	}
	for _, a := range s.Accelerators {
		out = append(out, a.line(base))
	}
	if len(out) == 0 {
		out = append(out, base.withTargetsOf(nil, nil))
	}
	return out
}

// withTargetsOf returns the line with the targets of those of some target groups that have one of the ARNs.
func (one getLoadBalancer) withTargetsOf(groups []TargetGroup, arns map[string]bool) getLoadBalancer {
	if healthy, targets, known := counted(groups, arns); known {
		one.Healthy, one.Targets = &healthy, &targets
	}
	return one
}

// counted counts the targets that AWS has in target groups; false if the health of one of these is not known.
func counted(groups []TargetGroup, arns map[string]bool) (healthy, all int, known bool) {
	for _, g := range groups {
		if !arns[g.ARN] {
			continue
		}
		if g.ARN != "" && g.Targets == nil {
			return 0, 0, false
		}
		for _, t := range g.Targets {
			if t.Compared == missing {
				continue
			}
			all++
			if t.State == "healthy" {
				healthy++
			}
		}
	}
	return healthy, all, true
}

// created returns when the oldest member was created, "" if that is not known.
func (g *getCommand) created(s Stack) string {
	var oldest time.Time
	for _, m := range s.Members {
		obj, err := g.store.Get(cluster.Ref{Kind: cluster.Kind(m.Kind), Namespace: m.Namespace, Name: m.Name})
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

func (doc GetDocument) table(w io.Writer, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "OF\tDNS NAME\tSTATE\tTARGETS\tFINDINGS\tAGE")
	for _, lb := range doc.LoadBalancers {
		targets := "?"
		if lb.Targets != nil {
			targets = fmt.Sprintf("%d/%d healthy", *lb.Healthy, *lb.Targets)
		}
		var found []string
		if lb.Errors > 0 {
			found = append(found, output.Amount(lb.Errors, "error"))
		}
		if lb.Warnings > 0 {
			found = append(found, output.Amount(lb.Warnings, "warning"))
		}
		age := "-"
		if at, err := time.Parse(time.RFC3339, lb.Created); err == nil {
			age = duration.HumanDuration(now.Sub(at))
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s\t%s\t%s\n", model.Kind(lb.Kind).Object(), lb.ID, cmp.Or(lb.DNSName, "-"), cmp.Or(lb.State, "-"), targets,
			cmp.Or(strings.Join(found, ", "), "-"), age)
	}
	return t.Flush()
}
