package handover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/check"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// maxComparedRules is the maximum number of rules for which the controller compares requests in a run. The command fulcrum
// migrate --check has no such limit.
const maxComparedRules = 1000

// maxShownDifferences is the maximum number of differences that a run reports.
const maxShownDifferences = 5

// Differences returns findings about the differences that clients would notice if a Gateway took over the load balancer of
// another stack. A difference in a rule prevents the take-over, unless the owner of the rule has consented to the take-over
// by this Gateway. All other differences prevent it unless all members have consented. have is the observed state of the
// Gateway, with the load balancer that it would take over; it is empty if AWS was not read. port returns the number of the
// Service port of a binding.
func Differences(want, from model.Stack, have observed.Stack, port func(model.Binding) string) (out finding.List) {
	allConsent := !slices.ContainsFunc(from.Members, func(m model.Member) bool { return m.Adopter != want.ID })
	add := func(text string, consent bool) {
		f := refusal(want, text, fmt.Sprintf("change the Gateway, its routes or their configuration; fulcrum migrate --check shows all differences of Ingresses, except in settings that are set only in AWS; to accept them, annotate each object with %s: %s", naming.AdoptedByAnnotation, want.ID))
		f.Reason = finding.AdoptionDiffers
		if consent {
			f.Severity, f.Blocks, f.Message, f.Fix = finding.Warning, finding.BlocksNothing, text, "if the difference is not intended, change the Gateway, its routes or their configuration"
		}
		out.Add(f)
	}
	side := func(s model.Stack) check.Side {
		return check.Side{Stack: s, Port: func(b *model.Binding) string { return port(*b) }, TakesOver: s.ID == want.ID}
	}
	compare, numRules := check.Compare, countRules(from)+countRules(want)
	if numRules > maxComparedRules {
		compare = check.CompareSettings
	}
	res := compare(side(withLiveSettings(from, want, have)), side(withTrustStoreARNs(want, have)), naming.MigratedFromTag)
	consented := func(d check.Difference) bool {
		return allConsent || slices.ContainsFunc(from.Members, func(m model.Member) bool {
			return m.Adopter == want.ID && strings.HasSuffix(d.IngressRule, " of "+m.Ref.String())
		})
	}
	// Differences that prevent the take-over come first, and then differences in settings, because at most
	// maxShownDifferences are reported.
	rank := func(d check.Difference) (n int) {
		if consented(d) {
			n = 2
		}
		if d.Request != "" {
			n++
		}
		return n
	}
	slices.SortStableFunc(res.Differences, func(a, b check.Difference) int { return cmp.Compare(rank(a), rank(b)) })
	for i, d := range res.Differences {
		if i == maxShownDifferences {
			add(plan.CountText(len(res.Differences)-i, "more difference"), consented(d))
			break
		}
		text := "a setting would differ: " + d.TextFor(string(from.ID.Kind))
		if d.Request != "" {
			text = "a request would be answered differently: " + d.TextFor(string(from.ID.Kind))
		}
		add(text, consented(d))
	}
	if numRules > maxComparedRules {
		add(fmt.Sprintf("requests for %d rules are not compared, because there are too many rules", numRules), allConsent)
	}
	if len(res.Partial) > 0 {
		add(fmt.Sprintf("port %d has more distinct requests than are compared", res.Partial[0]), allConsent)
	}
	if want.DryRun && !slices.ContainsFunc(out, func(f finding.Finding) bool { return f.Severity == finding.Error }) {
		out.Add(finding.Finding{
			Object: want.Adopts.At.Object, Field: want.Adopts.At.Field, Reason: finding.AdoptionReady,
			Message: fmt.Sprintf("the load balancer of %s can be taken over; %s", from.ID.Title(), comparisonText(from.ID.Kind, res)),
			Fix:     "remove annotation " + naming.DryRunAnnotation + " to start",
		})
	}
	return out
}

// comparisonText returns the text for a comparison whose result permits the take-over: either there are no differences, or
// the owners have consented to all of them.
func comparisonText(kind model.Kind, res check.Result) string {
	compared := "listeners, target groups and settings are the same"
	switch {
	case kind.HasRules() && res.Requests == 0:
		compared += ", but requests were not compared"
	case kind.HasRules():
		compared = fmt.Sprintf("%d requests were compared, and all have the same answers", res.Requests)
	}
	if n := len(res.Differences); n > 0 {
		return plan.CountText(n, "difference") + ", to which its objects consent"
	}
	return compared
}

// countRules returns the number of rules of a stack.
func countRules(s model.Stack) (n int) {
	if s.LoadBalancer != nil {
		for _, l := range s.LoadBalancer.Listeners {
			n += len(l.Rules)
		}
	}
	return n
}
