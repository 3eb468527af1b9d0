package tree

import (
	"fmt"
	"io"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// graph is the content of a Document as nodes and edges. A node is identified by its index in nodes.
type graph struct {
	nodes     []node
	edges     []edge
	nodeOfKey map[string]int
	hasEdge   map[edge]bool
}

// node is a node of a graph. Its label may have several lines.
type node struct {
	label string
	shape shape
	state state
}

// edge is a directed edge between two nodes, which are named by their indexes.
type edge struct{ from, to int }

// shape is the shape of a node. Its constants are indexes into the lists of shapes in writeDot and writeMermaid.
type shape int

const (
	objectShape shape = iota
	loadBalancerShape
	partShape
	targetShape
)

// graphOf returns the graph of the objects, load balancers, listeners, rules, target groups and targets of a document. It
// has the same maximum numbers of nodes as the text output.
func graphOf(doc Document) *graph {
	g := &graph{nodeOfKey: map[string]int{}, hasEdge: map[edge]bool{}}
	for _, s := range doc.Stacks {
		stack := s.Kind + " " + s.ID
		for _, a := range s.Accelerators {
			g.addAccelerator(s, a)
		}
		for _, lb := range s.LoadBalancers {
			lbNode := g.addLoadBalancer(stack, lb.Type, lb.ARN, lb.Name)
			g.nodes[lbNode].state = lb.State
			output.ShowFirst(s.Members, output.MaxShownMembers, func(m output.Object) {
				ref := finding.Ref(m).String()
				g.addEdge(g.addNode(ref, ref, objectShape, stateLive), lbNode)
			}, func(n int) { g.addEdge(g.addMoreNode(n, "objects"), lbNode) })
			output.ShowFirst(lb.Listeners, MaxListeners, func(l Listener) { g.addListener(stack, lbNode, l) },
				func(n int) { g.addEdge(lbNode, g.addMoreNode(n, "listeners")) })
		}
		output.ShowFirst(s.TargetGroups, MaxTargetGroups, func(t TargetGroup) { g.addTargetGroup(stack, t) }, func(int) {})
	}
	return g
}

// addListener adds a listener with its rules to lb, the node of its load balancer. stack is the prefix of the keys of nodes
// of the stack.
func (g *graph) addListener(stack string, lb int, l Listener) {
	at := g.addNode("", fmt.Sprintf("listener %s:%d", l.Protocol, l.Port), partShape, l.State)
	g.addEdge(lb, at)
	output.ShowFirst(l.Rules, MaxRules, func(r Rule) {
		rule := g.addNode("", fmt.Sprintf("rule %d\n%s", r.Priority, r.Conditions), partShape, r.State)
		g.addEdge(at, rule)
		g.addActions(stack, rule, r.Actions, r.TargetGroups)
	}, func(n int) { g.addEdge(at, g.addMoreNode(n, "rules")) })
	if l.Default != "" {
		otherwise := g.addNode("", "otherwise", partShape, l.State)
		g.addEdge(at, otherwise)
		g.addActions(stack, otherwise, l.Default, l.TargetGroups)
	}
}

// addActions adds to the node rule the target groups that the rule forwards to. If there are none, it adds the actions as
// text.
func (g *graph) addActions(stack string, rule int, actions string, groups []string) {
	for _, id := range groups {
		g.addEdge(rule, g.addNode(stack+"|group|"+id, "target group\n"+id, partShape, stateLive))
	}
	if len(groups) == 0 {
		g.addEdge(rule, g.addNode("", actions, objectShape, stateLive))
	}
}

// addTargetGroup adds a target group with its targets. If a rule that forwards to the target group has already added its
// node, addTargetGroup completes the node.
func (g *graph) addTargetGroup(stack string, t TargetGroup) {
	at := g.addNode(stack+"|group|"+t.ID, "", partShape, t.State)
	g.nodes[at].label, g.nodes[at].state = fmt.Sprintf("target group\n%s", t.ID), t.State
	output.ShowFirst(t.Targets, maxTargets, func(x Target) {
		g.addEdge(at, g.addNode("", fmt.Sprintf("%s:%d\n%s", x.ID, x.Port, x.State), targetShape, targetState(x)))
	}, func(n int) { g.addEdge(at, g.addMoreNode(n, "targets")) })
}

// targetState returns the state of the node of a target. It is stateLive only if the target is healthy.
func targetState(x Target) state {
	switch {
	case x.Compared != "":
		return x.Compared
	case x.State != "healthy":
		return stateDiffers
	}
	return stateLive
}

// addNode adds a node and returns its index. If there is already a node with the same key, it returns the index of that
// node. With an empty key it always adds a node.
func (g *graph) addNode(key, label string, shape shape, state state) int {
	if at, ok := g.nodeOfKey[key]; ok && key != "" {
		return at
	}
	g.nodes = append(g.nodes, node{label, shape, state})
	if key != "" {
		g.nodeOfKey[key] = len(g.nodes) - 1
	}
	return len(g.nodes) - 1
}

// addMoreNode adds a node that represents n resources that the graph does not show, and returns its index. noun is the
// plural of the kind of resource.
func (g *graph) addMoreNode(n int, noun string) int {
	return g.addNode("", fmt.Sprintf("… and %d more %s", n, noun), objectShape, stateLive)
}

// addEdge adds an edge, unless the graph already has it.
func (g *graph) addEdge(from, to int) {
	if e := (edge{from, to}); !g.hasEdge[e] {
		g.hasEdge[e] = true
		g.edges = append(g.edges, e)
	}
}

// maxLabelLength is the maximum length of a line of a label, in characters.
const maxLabelLength = 200

// labelLines returns the lines of a label. Each line is truncated and made printable.
func labelLines(label string) []string {
	var out []string
	for line := range strings.SplitSeq(label, "\n") {
		out = append(out, finding.Truncate(finding.EscapeNonPrintable(line), maxLabelLength))
	}
	return out
}

// writeDot writes the graph in the DOT language of Graphviz.
func (g *graph) writeDot(w io.Writer) error {
	var b strings.Builder
	b.WriteString("digraph fulcrum {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n")
	for i, n := range g.nodes {
		text := strings.Join(labelLines(n.label), "\x00")
		text = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\x00", `\n`).Replace(text)
		fmt.Fprintf(&b, "  n%d [shape=%s, label=\"%s\"%s];\n", i, [...]string{"plaintext", "box3d", "box", "ellipse"}[n.shape], text,
			map[state]string{stateMissing: `, color=green, style=dashed`, stateDiffers: `, color=orange`, stateSurplus: `, color=red, style=dashed`}[n.state])
	}
	for _, e := range g.edges {
		fmt.Fprintf(&b, "  n%d -> n%d;\n", e.from, e.to)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeMermaid writes the graph as a flow chart for Mermaid.
func (g *graph) writeMermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i, n := range g.nodes {
		text := labelLines(n.label)
		for j := range text {
			// Mermaid interprets markup in quoted text, and decodes entities.
			text[j] = strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;").Replace(text[j])
		}
		brackets := [...][2]string{{"(", ")"}, {"[[", "]]"}, {"[", "]"}, {"([", "])"}}[n.shape]
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s%s\n", i, brackets[0], strings.Join(text, "<br/>"), brackets[1],
			map[state]string{stateMissing: ":::missing", stateDiffers: ":::differs", stateSurplus: ":::surplus"}[n.state])
	}
	for _, e := range g.edges {
		fmt.Fprintf(&b, "  n%d --> n%d\n", e.from, e.to)
	}
	b.WriteString("  classDef missing stroke:#2a2,stroke-dasharray:4\n  classDef differs stroke:#d80\n  classDef surplus stroke:#c22,stroke-dasharray:4\n")
	_, err := io.WriteString(w, b.String())
	return err
}
