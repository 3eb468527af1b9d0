package planner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// listenerStepTexts returns the steps for listeners and their certificates, as text.
func listenerStepTexts(p plan.Plan) (out []string) {
	for _, s := range p.Steps {
		switch do := s.Do.(type) {
		case plan.CreateListener:
			out = append(out, "create with "+do.Settings.Certificate)
		case plan.ModifyListener:
			out = append(out, "set "+do.Settings.Certificate)
		case plan.DeleteListener:
			out = append(out, "delete")
		case plan.AddCertificate:
			out = append(out, "add "+do.ARN)
		case plan.RemoveCertificate:
			out = append(out, "remove "+do.ARN)
		}
	}
	return out
}

// TestDesiredCertificateReplacesAWithdrawnOne checks that a listener whose only certificate is withdrawn gets the desired
// certificate of its port, and is deleted if there is none, or if it still has the withdrawn certificate after some time.
func TestDesiredCertificateReplacesAWithdrawnOne(t *testing.T) {
	gone := model.Withdrawal{Object: testMember, Reason: finding.ReferenceNotPermitted, Message: "no grant"}
	named := func(arns ...string) model.Stack {
		s := withFinalizers(stackWithRules(forwardRule("/a", "g1")))
		s.LoadBalancer.Listeners[0].TLS = &model.TLS{Policy: "p"}
		if len(arns) > 0 {
			s.LoadBalancer.Listeners[0].TLS.Certificates = []model.CertChoice{model.CertARNs{Member: testMember, ARNs: arns}}
		}
		return s
	}
	is := validCertificate("new", "EC")
	imported := withImportedCertificate(named(), &is)
	replaced := []string{"set d", "remove c", "add d"}
	deleted := []string{"delete", "create with d", "add d"}
	for name, c := range map[string]struct {
		want   model.Stack
		change func(have *observed.Stack)
		waited time.Duration
		steps  []string
	}{
		"another is desired": {named("d"), nil, 0, replaced},
		"it cannot be set":   {named("d"), nil, durations.ShortWait, deleted},
		"both are withdrawn": {named("d"), func(have *observed.Stack) {
			have.Facts.Withdrawn.Certificates[model.ListenerCertificate{Port: 80, ARN: "d"}] = gone
		}, 0, deleted},
		"none is desired":             {named(), nil, 0, []string{"delete"}},
		"the list cannot be read":     {named("d"), unreadableCertificates, 0, deleted},
		"another is being imported":   {imported, nil, 0, nil},
		"the import does not succeed": {imported, nil, durations.ShortWait, []string{"delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			have := converge(t, named("c"), observed.Stack{Facts: testFacts()})
			have.Facts.Now, have.Facts.OwnCertificatesAsked = ownCertificateFacts().Now, true
			have.Facts.Withdrawn = &model.Withdrawn{Certificates: map[model.ListenerCertificate]model.Withdrawal{{Port: 80, ARN: "c"}: gone}}
			if c.change != nil {
				c.change(&have)
			}
			first, _ := planner.Make(c.want, have, importOptions, plan.Memory{})
			memory := plan.Memory{WaitedTimes: map[string]time.Duration{}}
			for _, key := range first.WaitKeys {
				memory.WaitedTimes[key] = c.waited
			}
			p, found := planner.Make(c.want, have, importOptions, memory)
			if diff := cmp.Diff(c.steps, listenerStepTexts(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s\n%s", diff, p.Text())
			}
			if !slices.ContainsFunc(found, func(f finding.Finding) bool { return strings.HasPrefix(f.Message, "no grant; ") }) {
				t.Errorf("findings: %v", found)
			}
			have.Facts.Withdrawn = nil
			if p, _ = planner.Make(c.want, have, importOptions, memory); len(memory.WaitedTimes) > 0 && !p.HasRetainedParts {
				t.Error("the rights are not determined again")
			}
		})
	}
}

// TestWaitForReplacementContinuesWhileStackIsHeld checks that a withdrawn certificate does not stay if AWS refuses to replace
// it, and its members hold the whole stack meanwhile.
func TestWaitForReplacementContinuesWhileStackIsHeld(t *testing.T) {
	named := func(arn string) model.Stack {
		s := withFinalizers(stackWithRules(forwardRule("/a", "g1")))
		s.LoadBalancer.Listeners[0].TLS = &model.TLS{Policy: "p", Certificates: []model.CertChoice{model.CertARNs{Member: testMember, ARNs: []string{arn}}}}
		return s
	}
	have := converge(t, named("c"), observed.Stack{Facts: testFacts()})
	have.Facts.Withdrawn = &model.Withdrawn{Certificates: map[model.ListenerCertificate]model.Withdrawal{
		{Port: 80, ARN: "c"}: {Object: testMember, Reason: finding.ReferenceNotPermitted, Message: "no grant"},
	}}
	p, _ := planner.Make(named("d"), have, importOptions, plan.Memory{})
	have.LoadBalancers[0].Listeners[0].Certificates = []string{"c", "d"} // AWS has added the certificate, but refused it as default
	held := named("d")
	held.Held.AllResources = true
	for _, waited := range []time.Duration{durations.ShortWait / 2, durations.ShortWait} {
		memory := plan.Memory{WaitedTimes: map[string]time.Duration{}}
		for _, key := range p.WaitKeys {
			memory.WaitedTimes[key] = waited
		}
		p, _ = planner.Make(held, have, importOptions, memory)
	}
	if diff := cmp.Diff([]string{"delete"}, listenerStepTexts(p)); diff != "" {
		t.Errorf("steps (-want +got):\n%s\n%s", diff, p.Text())
	}
}

// unreadableCertificates removes the certificate list of the first listener, as if it could not be read.
func unreadableCertificates(have *observed.Stack) {
	l := &have.LoadBalancers[0].Listeners[0]
	l.Certificates = nil
	have.Facts.Faults = map[string]observed.Fault{model.AskListenerCertificates{ARN: l.ARN}.Key(): {Reason: finding.AccessDenied, Message: "denied"}}
}
