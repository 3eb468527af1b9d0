package tree

import (
	"fmt"
	"io"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// graph is a tree as nodes and edges. Nodes are numbered in the order in which they were added.
type graph struct {
	nodes []node
	edges []edge
	ids   map[string]int
	drawn map[edge]bool
}

type node struct {
	label string
	shape shape
	state state
}

type edge struct{ from, to int }

// shape distinguishes kinds of nodes.
type shape int

const (
	object shape = iota
	loadBalancerShape
	part
	targetShape
)

// graphOf draws object, load balancer, listener, rule, target group and target. Of one thing as much is drawn as
// text shows.
func graphOf(all Document) *graph {
	g := &graph{ids: map[string]int{}, drawn: map[edge]bool{}}
	for _, s := range all.Stacks {
		stack := s.Kind + " " + s.ID
		for _, a := range s.Accelerators {
			g.accelerator(s, a)
		}
		for _, lb := range s.LoadBalancers {
			lbNode := g.loadBalancer(stack, lb.Type, lb.ARN, lb.Name)
			g.nodes[lbNode].state = lb.State
			output.ShowFirst(s.Members, output.MaxShownMembers, func(m output.Object) {
				ref := finding.Ref(m).String()
				g.edge(g.node(ref, ref, object, live), lbNode)
			}, func(n int) { g.edge(g.more(n, "objects"), lbNode) })
			output.ShowFirst(lb.Listeners, MostListeners, func(l Listener) { g.listener(stack, lbNode, l) },
				func(n int) { g.edge(lbNode, g.more(n, "listeners")) })
		}
		output.ShowFirst(s.TargetGroups, MostTargetGroups, func(t TargetGroup) { g.targetGroup(stack, t) }, func(int) {})
	}
	return g
}

func (g *graph) listener(stack string, lb int, l Listener) {
	at := g.node("", fmt.Sprintf("listener %s:%d", l.Protocol, l.Port), part, l.State)
	g.edge(lb, at)
	output.ShowFirst(l.Rules, MostRules, func(r Rule) {
		rule := g.node("", fmt.Sprintf("rule %d\n%s", r.Priority, r.Conditions), part, r.State)
		g.edge(at, rule)
		g.drawActions(stack, rule, r.Actions, r.TargetGroups)
	}, func(n int) { g.edge(at, g.more(n, "rules")) })
	if l.Default != "" {
		otherwise := g.node("", "otherwise", part, l.State)
		g.edge(at, otherwise)
		g.drawActions(stack, otherwise, l.Default, l.TargetGroups)
	}
}

// drawActions draws what a rule does.
func (g *graph) drawActions(stack string, rule int, actions string, groups []string) {
	for _, id := range groups {
		g.edge(rule, g.node(stack+"|group|"+id, "target group\n"+id, part, live))
	}
	if len(groups) == 0 {
		g.edge(rule, g.node("", actions, object, live))
	}
}

func (g *graph) targetGroup(stack string, t TargetGroup) {
	at := g.node(stack+"|group|"+t.ID, "", part, t.State)
	g.nodes[at].label, g.nodes[at].state = fmt.Sprintf("target group\n%s", t.ID), t.State
	output.ShowFirst(t.Targets, mostTargets, func(x Target) {
		g.edge(at, g.node("", fmt.Sprintf("%s:%d\n%s", x.ID, x.Port, x.State), targetShape, targetState(x)))
	}, func(n int) { g.edge(at, g.more(n, "targets")) })
}

// targetState marks a target that gets no requests.
func targetState(x Target) state {
	switch {
	case x.Compared != "":
		return x.Compared
	case x.State != "healthy":
		return differs
	}
	return live
}

// node returns the node of a key, which is made if it is not there; an empty key is that of no other node.
func (g *graph) node(key, label string, s shape, is state) int {
	if at, ok := g.ids[key]; ok && key != "" {
		return at
	}
	g.nodes = append(g.nodes, node{label, s, is})
	if key != "" {
		g.ids[key] = len(g.nodes) - 1
	}
	return len(g.nodes) - 1
}

func (g *graph) more(n int, of string) int {
	return g.node("", fmt.Sprintf("… and %d more %s", n, of), object, live)
}

func (g *graph) edge(from, to int) {
	if e := (edge{from, to}); !g.drawn[e] {
		g.drawn[e] = true
		g.edges = append(g.edges, e)
	}
}

// labels are at most this long.
const longestLabel = 200

func lines(label string) []string {
	var out []string
	for line := range strings.SplitSeq(label, "\n") {
		out = append(out, finding.CutTo(longestLabel, finding.Printable(line)))
	}
	return out
}

// dot writes the graph for Graphviz.
func (g *graph) dot(w io.Writer) error {
	var b strings.Builder
	b.WriteString("digraph fulcrum {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n")
	for i, n := range g.nodes {
		text := strings.Join(lines(n.label), "\x00")
		text = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\x00", `\n`).Replace(text)
		fmt.Fprintf(&b, "  n%d [shape=%s, label=\"%s\"%s];\n", i, [...]string{"plaintext", "box3d", "box", "ellipse"}[n.shape], text,
			map[state]string{missing: `, color=green, style=dashed`, differs: `, color=orange`, surplus: `, color=red, style=dashed`}[n.state])
	}
	for _, e := range g.edges {
		fmt.Fprintf(&b, "  n%d -> n%d;\n", e.from, e.to)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// mermaid writes the graph as a flow chart.
func (g *graph) mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i, n := range g.nodes {
		text := lines(n.label)
		for j := range text {
			// Mermaid reads entities in quoted texts, and markup otherwise.
			text[j] = strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;").Replace(text[j])
		}
		around := [...][2]string{{"(", ")"}, {"[[", "]]"}, {"[", "]"}, {"([", "])"}}[n.shape]
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s%s\n", i, around[0], strings.Join(text, "<br/>"), around[1],
			map[state]string{missing: ":::missing", differs: ":::differs", surplus: ":::surplus"}[n.state])
	}
	for _, e := range g.edges {
		fmt.Fprintf(&b, "  n%d --> n%d\n", e.from, e.to)
	}
	b.WriteString("  classDef missing stroke:#2a2,stroke-dasharray:4\n  classDef differs stroke:#d80\n  classDef surplus stroke:#c22,stroke-dasharray:4\n")
	_, err := io.WriteString(w, b.String())
	return err
}
