package explain

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// newRequestCommand returns the command explain request.
func newRequestCommand(env output.Environment) *cobra.Command {
	r := &requestCommand{Source: input.Source{Env: env}}
	cmd := &cobra.Command{
		Use: "request URL", Short: "Show the rule that answers a request and its object, and the rules that match but never get the request",
		Long: `request shows which load balancer, listener and rule answer a request, which object and field the rule comes from,
what it does, and which other rules match the request too but come later. It uses the desired state, and
shows where AWS still answers differently. No request is sent.

DNS decides which load balancer a client reaches: all load balancers with a rule for the request are shown. A host
that is the DNS name of a load balancer chooses it. A host that is the DNS name or a static address of an
accelerator selects the load balancers that are its endpoints and may receive the request; in this case give the host of
the rules as a Host header.`,
		Example: `  fulcrum explain request http://shop.example/cart --cluster-name=prod --aws-vpc-id=vpc-0123
  fulcrum explain request https://shop.example/api -H 'x-canary: 1' --method POST --source-ip 203.0.113.7 -n shop
  fulcrum explain request https://75.2.1.2/ -H 'Host: shop.example'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return output.NewUsageError(fmt.Errorf("give one URL, for example http://shop.example/cart; %s", output.HelpHint(cmd)))
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	r.Bind(cmd)
	r.BindOffline(cmd)
	r.form.Bind(cmd, env)
	fs := cmd.Flags()
	fs.StringArrayVarP(&r.headers, "header", "H", nil, "header as 'Name: value'; may be repeated")
	fs.StringVar(&r.method, "method", "GET", "method of the request")
	fs.StringVar(&r.sourceIP, "source-ip", "", "address of the client; if empty, rules with a source-ip condition match nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.run(cmd, args[0]) }
	return cmd
}

// requestCommand has the flags of the command explain request.
type requestCommand struct {
	input.Source
	form             output.Format
	headers          []string
	method, sourceIP string
}

// webRequest is an HTTP request, with the host and port to which the client connects.
type webRequest struct {
	model.Request
	scheme string // http or https
	// urlHost is the host of the URL, which may differ from the Host header.
	urlHost      string
	port         int32
	methodAndURL string // method and URL
}

// defaultPorts are the ports of URLs that name no port, by URL scheme.
var defaultPorts = map[string]int32{"http": 80, "https": 443}

// RequestDocument is the output of the command explain request as JSON or YAML.
type RequestDocument struct {
	Cluster string `json:"cluster"`
	Request string `json:"request"`
	// Answers are the answers of the load balancers that have a rule for the request or name the host of the request. If
	// there are none, they are the answers of all load balancers that listen on the port.
	Answers []requestAnswer `json:"answers"`
	// Unserved is set if no rule names the host of the request. In that case the load balancers in Answers receive the
	// request only if DNS resolves the host to them.
	Unserved *requestUnserved `json:"unserved,omitempty"`
	// Accelerator is the accelerator that has the host of the URL as its DNS name or address. Answers are those of the load
	// balancers behind it.
	Accelerator *requestAccelerator `json:"accelerator,omitempty"`
	// Notes are sentences about other settings that affect the answer.
	Notes []string `json:"notes"`
}

// requestAnswer is the answer of a load balancer to a request.
type requestAnswer struct {
	Kind         string `json:"kind"`
	ID           string `json:"id"`
	LoadBalancer string `json:"loadBalancer"`
	Type         string `json:"type"`
	DNSName      string `json:"dnsName,omitempty"`
	Protocol     string `json:"protocol"`
	Port         int32  `json:"port"`
	// Named is the condition of the rule, the DNS name of the load balancer, or the annotation that names the host of the
	// request. It is missing if the load balancer accepts requests for any host.
	Named string `json:"named,omitempty"`
	// Rule is the rule that answers. It is null if the default action answers.
	Rule *explainedRule `json:"rule"`
	// Does describes the actions of the rule or the default action.
	Does string `json:"does"`
	// Location is the URL of a redirect.
	Location string `json:"location,omitempty"`
	// From is the object and field that the rule or default action comes from.
	From string `json:"from,omitempty"`
	// Shadowed are rules that also match the request, but do not answer it, because an earlier rule does.
	Shadowed []explainedRule `json:"shadowed"`
	// Now describes the actions that AWS performs until the plan is carried out, if they differ from the desired actions.
	Now string `json:"now,omitempty"`
	// Targets are the targets of the target groups that the request is forwarded to.
	Targets []requestTargets `json:"targets,omitempty"`

	targetGroupIDs []string // ids of the target groups that the request is forwarded to
	hostPattern    string   // the host pattern of the rule
}

// requestTargets has the health of the targets of a target group.
type requestTargets struct {
	TargetGroup string `json:"targetGroup"`
	// Health is the number of targets in each state, as AWS shows it.
	Health string `json:"health"`
	// Note explains the state of the target group, for example why no pod is ready to serve.
	Note string `json:"note,omitempty"`
}

// parseRequest returns the request that the command line describes. target is the URL.
func (r *requestCommand) parseRequest(target string) (webRequest, error) {
	if !strings.Contains(target, "://") {
		target = "http://" + target
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return webRequest{}, fmt.Errorf("%q is not a URL; write one like http://shop.example/cart", target)
	}
	out := webRequest{scheme: strings.ToLower(u.Scheme), port: defaultPorts[strings.ToLower(u.Scheme)]}
	if out.port == 0 {
		return out, fmt.Errorf("scheme %q of the URL is neither http nor https", u.Scheme)
	}
	out.urlHost = u.Hostname()
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return out, fmt.Errorf("port %q of the URL is not valid", p)
		}
		out.port = int32(n)
	}
	out.Request = model.Request{
		Host: u.Hostname(), Path: cmp.Or(u.EscapedPath(), "/"), Method: strings.ToUpper(r.method), Query: u.RawQuery, Client: r.sourceIP,
	}
	if _, err := netip.ParseAddr(r.sourceIP); r.sourceIP != "" && err != nil {
		return out, fmt.Errorf("--source-ip %q is not an IP address", r.sourceIP)
	}
	for _, h := range r.headers {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return out, fmt.Errorf("--header %q has no name and value; write it like 'Name: value'", h)
		}
		value = strings.TrimSpace(value)
		if strings.EqualFold(name, "Host") {
			out.Host = (&url.URL{Host: value}).Hostname() // without a port, as for the URL
			continue
		}
		out.Header = append(out.Header, model.HeaderField{Name: name, Value: value})
	}
	out.methodAndURL = out.Method + " " + u.String()
	return out, nil
}

func (r *requestCommand) run(cmd *cobra.Command, target string) error {
	if err := r.form.Check(); err != nil {
		return err
	}
	req, err := r.parseRequest(target)
	if err != nil {
		return err
	}
	store, err := r.Objects(cmd.Context(), cmd.InOrStdin(), r.form.NotesWriter())
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	a := answerCollector{webRequest: req, Source: &r.Source, store: store, ClusterTargets: tree.ClusterTargetsOf(store, r.Config)}
	doc, err := a.collectAnswers(ctx)
	if err != nil {
		return err
	}
	doc.Cluster = r.Config.ClusterName
	if !r.form.IsText() {
		return r.form.PrintDocument(doc)
	}
	showAnswers(r.form.Out(), doc)
	return nil
}

// answerCollector collects the answers to one request.
type answerCollector struct {
	webRequest
	*input.Source
	tree.ClusterTargets
	store   *cluster.Memory
	drafts  []engine.Draft // of the stacks whose answers are in answers
	answers []requestAnswer
	// onlyLoadBalancerARN is the ARN of the only load balancer whose answers are added, or "" for all load balancers.
	onlyLoadBalancerARN string
	// byDNSName is the answer of the load balancer whose DNS name is the host of the request, or nil if there is none.
	byDNSName *requestAnswer
	// otherProtocolNotes are notes about listeners on the port whose protocol is not the scheme of the request.
	otherProtocolNotes []string
	// heldNotes are notes about stacks that are held.
	heldNotes []string
	// needsClientAddress reports whether a rule has a source-ip condition and no --source-ip is set.
	needsClientAddress bool
}

// addAnswers adds the answers of the load balancers of a stack, and the notes about them.
func (a *answerCollector) addAnswers(ctx context.Context, d engine.Draft) error {
	if d.Stack.Held.AllResources && a.mayNameHost(d.Stack) {
		a.heldNotes = append(a.heldNotes, fmt.Sprintf("%s %s is held, so its new settings have no effect; run \"fulcrum explain\" for one of the objects of this load balancer", d.Stack.ID.Kind.ObjectKind(), d.Stack.ID))
	}
	// The comparer replaces ARNs of target groups in the actions of AWS by ids, as in the desired actions.
	c := tree.NewComparer(d, d.Have.Facts, tree.ClusterTargets{})
	for _, lb := range d.Choices().LoadBalancers {
		if a.onlyLoadBalancerARN != "" && (lb.Live == nil || lb.Live.ARN != a.onlyLoadBalancerARN) {
			continue
		}
		for _, l := range lb.Listeners {
			if l.Desired.Port != a.port || !l.Planned && l.Live == nil {
				continue
			}
			protocol := l.Desired.Protocol()
			if !acceptsScheme(lb.Desired.Type, protocol, a.scheme) {
				a.otherProtocolNotes = append(a.otherProtocolNotes, fmt.Sprintf("%s %s uses %s on port %d", d.Stack.ID.Kind.ObjectKind(), d.Stack.ID, protocol, a.port))
				continue
			}
			answer := a.answerOfListener(l, c)
			answer.Kind, answer.ID, answer.LoadBalancer, answer.Type = string(d.Stack.ID.Kind), d.Stack.ID.String(), lb.Desired.Name, lb.Desired.Type.String()
			if lb.Live != nil {
				answer.LoadBalancer, answer.DNSName = lb.Live.Name, lb.Live.DNSName
			}
			answer.Named = a.hostNamedBy(answer, d, lb.Listeners)
			if answer.DNSName != "" && strings.EqualFold(answer.DNSName, a.Host) {
				answer.Named = "the DNS name of the load balancer"
				a.byDNSName = &answer
			}
			if err := a.addTargets(ctx, d, &answer); err != nil {
				return err
			}
			a.answers = append(a.answers, answer)
		}
	}
	return nil
}

// acceptsScheme reports whether a listener with a protocol accepts requests with a URL scheme. "of" is the type of its load
// balancer. A listener for UDP, QUIC or TLS accepts no HTTP requests.
func acceptsScheme(of model.LoadBalancerType, protocol, scheme string) bool {
	if of == model.Application {
		return strings.ToLower(protocol) == scheme
	}
	return scheme == "https" || strings.HasPrefix(protocol, "TCP")
}

// mayNameHost reports whether a member of a stack may name the host of the request. It reads only the hosts of Ingresses,
// and returns true for any other object.
func (a *answerCollector) mayNameHost(s model.Stack) bool {
	var refs []finding.Ref
	for _, m := range s.Members {
		refs = append(refs, m.Ref)
	}
	if len(refs) == 0 { // an object that is held is not among the members
		refs = []finding.Ref{{Kind: s.ID.Kind.ObjectKind(), Namespace: s.ID.Namespace, Name: s.ID.Name}}
	}
	return slices.ContainsFunc(refs, func(ref finding.Ref) bool {
		obj, err := a.store.Get(ref)
		ing, ok := obj.(*networkingv1.Ingress)
		if err != nil || !ok || ing.Spec.DefaultBackend != nil {
			return true
		}
		return slices.ContainsFunc(ing.Spec.Rules, func(r networkingv1.IngressRule) bool {
			return r.Host == "" || matchingHostPattern(model.Rule{Conditions: []model.Condition{model.HostHeader{Values: []string{r.Host}}}}, a.Request) != ""
		})
	})
}

// addTargets adds to answer the health of the targets to which the request is forwarded.
func (a *answerCollector) addTargets(ctx context.Context, d engine.Draft, answer *requestAnswer) error {
	var questions []model.Question
	for _, g := range d.Have.TargetGroups {
		if slices.Contains(answer.targetGroupIDs, g.ResourceID) {
			questions = append(questions, model.AskHealth{ARN: g.ARN})
		}
	}
	if len(questions) == 0 {
		return nil
	}
	have, err := a.ObserveWith(ctx, d.Stack.ID, questions)
	if err != nil {
		return err
	}
	c := tree.NewComparer(d, have.Facts, a.ClusterTargets)
	for _, g := range c.TargetGroups() {
		if slices.Contains(answer.targetGroupIDs, g.ID) && g.ARN != "" {
			answer.Targets = append(answer.Targets, requestTargets{g.ID, tree.HealthText(g.Targets), g.Note})
		}
	}
	return nil
}

// answerOfListener returns the answer of a listener to the request.
func (a *answerCollector) answerOfListener(l resolved.Listener, c *tree.Comparer) requestAnswer {
	out := requestAnswer{Protocol: l.Desired.Protocol(), Port: l.Desired.Port, Shadowed: []explainedRule{}, From: tree.OriginText(l.Desired.DefaultOf)}
	actions := l.DefaultActions
	listener := explainListener(l, func(model.Rule) bool { return false }, c.Facts)
	matching := model.MatchingRules(desiredRulesOf(l.Rules), a.Request)
	for n, i := range matching {
		rule := listener.Rules[i]
		if n > 0 {
			out.Shadowed = append(out.Shadowed, rule)
			continue
		}
		out.Rule, out.From, actions, out.hostPattern = &rule, rule.From, l.Rules[i].Desired.Actions, matchingHostPattern(l.Rules[i].Desired, a.Request)
	}
	out.Shadowed = append(out.Shadowed, a.coveredRules(l, listener)...)
	out.targetGroupIDs = c.TargetGroupsOf(actions)
	out.Does, out.Location = c.ActionsText(actions), finding.EscapeNonPrintable(a.redirectLocation(actions))
	a.needsClientAddress = a.needsClientAddress || a.Client == "" && slices.ContainsFunc(l.Rules, func(r resolved.Rule) bool { return hasSourceIPCondition(r.Desired) })
	out.Now = a.currentAnswer(l, c, actions)
	return out
}

// desiredRulesOf returns the desired rules of resolved rules, in the same order.
func desiredRulesOf(rules []resolved.Rule) []model.Rule {
	out := make([]model.Rule, len(rules))
	for i, r := range rules {
		out[i] = r.Desired
	}
	return out
}

// coveredRules returns the rules that match the request but are not created in AWS, because an earlier redirect answers all
// of their requests.
func (a *answerCollector) coveredRules(l resolved.Listener, listener explainedListener) []explainedRule {
	var out []explainedRule
	for _, r := range listener.Rules[len(l.Rules)+len(l.OmittedRules):] {
		for _, i := range model.MatchingRules(l.Desired.AllRules, a.Request) {
			if c := l.Desired.AllRules[i]; tree.OriginText(c.Key(0).Of) == r.From && plan.ConditionsText(c.Conditions) == r.Conditions {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

// hasSourceIPCondition reports whether a rule compares the address of the client.
func hasSourceIPCondition(r model.Rule) bool {
	return slices.ContainsFunc(r.Conditions, func(c model.Condition) bool {
		_, ok := c.(model.SourceIP)
		return ok
	})
}

// currentAnswer describes the actions that AWS performs until the plan is carried out. It returns "" if they have the
// same effect as the desired actions.
func (a *answerCollector) currentAnswer(l resolved.Listener, c *tree.Comparer, desired []model.Action) string {
	if l.Live == nil {
		return "nothing listens on the port yet"
	}
	actions := l.Live.Default
	live := slices.Clone(l.Live.Rules)
	slices.SortStableFunc(live, func(x, y observed.Rule) int { return cmp.Compare(x.Priority, y.Priority) })
	for _, r := range live {
		if _, ok := model.FirstMatchingRule([]model.Rule{{Conditions: r.Conditions}}, a.Request); ok {
			actions = r.Actions
			break
		}
	}
	if c.SameActions(actions, desired) {
		return ""
	}
	return c.ActionsText(actions)
}

// redirectLocation returns the URL to which actions redirect the request, or "" if they do not redirect.
func (a *answerCollector) redirectLocation(actions []model.Action) string {
	if len(actions) == 0 {
		return ""
	}
	redirect, ok := actions[len(actions)-1].(model.Redirect)
	if !ok {
		return ""
	}
	return redirect.Location(a.Request, a.scheme, a.port)
}

// noRuleMatchesNote is a note for RequestDocument.Notes. It is omitted if RequestDocument.Unserved explains why no rule
// matches.
const noRuleMatchesNote = "no rule matches the request, so default actions answer"

// buildDocument returns a document with the answers that a client may get. If the host is the DNS name of a load
// balancer, the document has only the answer of this load balancer. Otherwise it has the answers of rules, of NLBs, and
// of load balancers for which requestAnswer.Named is set. If there are no such answers, it has all answers.
func (a *answerCollector) buildDocument() RequestDocument {
	doc := RequestDocument{Request: a.methodAndURL, Answers: a.answers, Notes: []string{}}
	note := func(format string, args ...any) {
		doc.Notes = append(doc.Notes, finding.EscapeNonPrintable(fmt.Sprintf(format, args...)))
	}
	byRule := slices.DeleteFunc(slices.Clone(a.answers), func(x requestAnswer) bool { return x.Rule == nil && x.Named == "" && x.Type != nlbType })
	switch {
	case a.byDNSName != nil:
		doc.Answers = []requestAnswer{*a.byDNSName}
	case len(byRule) > 0:
		if n := len(a.answers) - len(byRule); n > 0 {
			note("%s on port %d without a rule for the request", output.CountWithNoun(n, "other load balancer")+" listen"+map[bool]string{true: "s"}[n == 1], a.port)
		}
		doc.Answers = byRule
		if len(byRule) > 1 {
			note("DNS decides which of these load balancers a client reaches")
		}
	case len(a.answers) == 0:
		doc.Answers = []requestAnswer{}
		note("no load balancer of these objects listens for %s on port %d", a.scheme, a.port)
	case slices.ContainsFunc(a.answers, func(x requestAnswer) bool { return x.Rule == nil && x.Type != nlbType }):
		note(noRuleMatchesNote)
	}
	for _, o := range a.otherProtocolNotes[:min(len(a.otherProtocolNotes), maxOtherFindings)] {
		note("%s", o)
	}
	for _, h := range a.heldNotes[:min(len(a.heldNotes), maxOtherFindings)] {
		note("%s", h)
	}
	if a.port != defaultPorts[a.scheme] && len(byRule) > 0 {
		note("clients send the Host header \"%s:%d\"; AWS does not document whether a rule compares the port, and a rule for %q alone may not match", a.Host, a.port, a.Host)
	}
	if a.needsClientAddress {
		note("rules with a source-ip condition match nothing here; set the address of the client with --source-ip")
	}
	return doc
}

// nlbType is the type of NLBs, whose listeners have no rules.
const nlbType = string(model.Network)
