package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/engine/refused"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// findings returns the findings about failed steps, on the objects of the steps. Steps of one kind that fail because of the
// same missing permission or quota are joined to one finding for each object.
func (r *run) findings(failed []FailedStep) (out finding.List) {
	type group struct {
		ref     finding.Ref
		class   failure.Class
		do      string
		skipped bool
	}
	members := map[group][]FailedStep{}
	for _, f := range failed {
		f.Step.RequestedBy = r.membersOfRefusedValue(f)
		_, imports := f.Step.Do.(plan.ImportCertificate) // not joined, because each finding has the expiry time of its certificate
		joined := (f.Class == failure.Quota || f.Class == failure.Denied) && !imports
		switch {
		case (f.Class == failure.InUse || f.Class == failure.NotReady) && f.Streak < minReportedStreak, f.Class == failure.Throttled, failure.PostponedFor(f.Err) > 0:
			// This failure is not reported, because it can end without a change by users.
		case f.isKubernetesStep() || imports || !joined && !f.Skipped:
			out.Add(f.withAcceleratorFields(r.out.Stack.Accelerator, f.findings(1, r.out.Plan))...)
		default:
			for _, ref := range f.Step.RequestedBy {
				g := group{ref, f.Class, callKind(f.Step.Do), f.Skipped && !joined}
				members[g] = append(members[g], f)
			}
		}
	}
	for g, all := range members {
		// The text is taken from the called step that is first in alphabetical order, so that it is the same in each run.
		f := slices.MinFunc(all, func(x, y FailedStep) int {
			called := func(f FailedStep) int {
				if f.Skipped {
					return 1
				}
				return 0
			}
			return cmp.Or(cmp.Compare(called(x), called(y)), cmp.Compare(failureCountKey(x.Step), failureCountKey(y.Step)))
		})
		distinct := map[plan.StepID]bool{}
		for _, x := range all {
			distinct[failureCountKey(x.Step)] = true
		}
		f.Step.RequestedBy = []finding.Ref{g.ref}
		out.Add(f.findings(len(distinct), r.out.Plan)...)
	}
	return out
}

// withAcceleratorFields sets the field of findings about an accelerator to the field of the GlobalAccelerator from which the
// resource is translated. For other findings, the field is the kind of the resource.
func (f FailedStep) withAcceleratorFields(acc *model.Accelerator, found finding.List) finding.List {
	if acc == nil || !plan.IsAcceleratorKind(f.Step.Address.Kind) {
		return found
	}
	from := acc.OriginOf(f.Step.Address.ID)
	if _, creates := f.Step.Do.(plan.CreateAccelerator); creates && from.Field == "" {
		from = acc.Origins[refused.AcceleratorSetting(strings.ToLower(failure.CodeAndMessage(f.Err)))]
	}
	for i := range found {
		if found[i].Field == string(f.Step.Address.Kind) && from.Field != "" && found[i].Object == from.Object {
			found[i].Field = from.Field
		}
	}
	return found
}

// membersOfRefusedValue returns the members whose objects may contain the value that AWS refuses. For a default action, this
// is only the member that sets the default action. For other steps, these are all members of the step.
func (r *run) membersOfRefusedValue(f FailedStep) []finding.Ref {
	value, ofAWS := refused.ValueOf(r.out.ID.Kind, f.Step, f.Err)
	if !ofAWS || value.Setting != refused.DefaultBackend || r.out.Stack.LoadBalancer == nil {
		return f.Step.RequestedBy
	}
	matches := memberDefaultMatcher(f.Step.Address)
	for _, l := range r.out.Stack.LoadBalancer.Listeners {
		if matches(l) {
			return []finding.Ref{l.DefaultOf.Object}
		}
	}
	return f.Step.RequestedBy
}

// StatusError is the error for a finalizer that is not removed, because the status of its object could not be cleared first.
type StatusError struct{ Err error }

func (e StatusError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the API server.
func (e StatusError) Unwrap() error { return e.Err }

// FieldStatus is the field of findings about a status that cannot be written.
const FieldStatus = "status"

// failureCountKey returns the key by which failed steps are counted. All steps for one rule have the same key.
func failureCountKey(s plan.Step) plan.StepID {
	if s.Rule.IsZero() {
		return s.ID
	}
	return plan.StepID(fmt.Sprint(s.Rule))
}

// findings returns the findings about a failed step of a plan, one for each object of the step. n is the number of steps
// with the same failure.
func (f FailedStep) findings(n int, p plan.Plan) (out finding.List) {
	reason, fix := reasonAndFix(f)
	message := strings.TrimPrefix(failure.WithoutSDKText(f.Err), attemptPrefix(f.Step)) // the field of the finding names the step
	field := string(f.Step.Address.Kind)
	reach, port := finding.BlocksNothing, int32(0)
	if n == 1 {
		port = f.Step.Rule.Port
	}
	if f.isHeld() && f.Step.Address.Kind == plan.Rule {
		reach = finding.BlocksRule
	}
	switch do := f.Step.Do.(type) {
	case plan.CreateRule:
		message, field = f.refusedRuleText(p.Stack.Kind, do.Rule.Conditions, do.Rule.Actions, n), f.ruleField(n)
	case plan.ModifyRule:
		message, field = f.refusedRuleText(p.Stack.Kind, do.Conditions, do.Actions, n), f.ruleField(n)
	case plan.SetPriorities:
		message = fmt.Sprintf("AWS refuses to reorder the rules of %s: %s; the rules keep their priorities, and rules that need another order stay unchanged or are not created", f.Step.Address, failure.CodeAndMessage(f.Err))
	case plan.ImportCertificate:
		return f.refusedImportFindings(do, reason, fix)
	case plan.ReleaseFinalizer:
		if errors.As(f.Err, new(StatusError)) {
			field = FieldStatus
		}
	default:
		if listener, ok := do.(plan.CreateListener); ok && n == 1 {
			port = listener.Settings.Port
		}
		value, ofAWS := refused.ValueOf(p.Stack.Kind, f.Step, f.Err)
		ingress, sources := do.(plan.ChangeIngress)
		switch {
		case sources && f.Class == failure.Quota:
			message += fmt.Sprintf("; the security group would have %d rules", ingress.Total)
			fix = "use fewer values in " + naming.SettingName(p.Stack.Kind, "inbound-cidrs") + " or " + naming.SettingName(p.Stack.Kind, "listen-ports") + ", use a prefix list instead, or request a higher quota from AWS"
		case n > 1:
			field = "" // the steps are for several resources
			message = fmt.Sprintf("AWS refuses %s: %s; what exists in AWS stays unchanged", countText(f.Step.Do, n), failure.CodeAndMessage(f.Err))
		case f.Skipped:
			message = fmt.Sprintf("%s is skipped in this run, because AWS refuses similar changes: %s", f.Step.Address, failure.CodeAndMessage(f.Err))
		case ofAWS && f.Class == failure.Invalid && (reason == finding.RejectedByAWS || reason == finding.WebACLNotFound):
			message = fmt.Sprintf("%s; %s", value.Text(""), refused.EffectText(p.Stack.Kind, f.Step, refused.IsNeededByNewListener(p, f.Step.ID)))
			field, fix = cmp.Or(value.Setting, field), failure.ChangeValueFix
		case reason == finding.NameTaken:
			return f.nameTakenFindings(p.Stack, message)
		}
	}
	for _, ref := range f.Step.RequestedBy {
		out.Add(finding.Finding{
			Object: ref, Field: field, Reason: reason, Severity: finding.Error, Message: message, Fix: fix, Blocks: reach, Port: port,
		})
	}
	return out
}

// refusedImportFindings returns the findings about a certificate that is not imported. There is one finding for each object
// and field that refers to the Secret of the certificate.
func (f FailedStep) refusedImportFindings(do plan.ImportCertificate, reason finding.Reason, fix string) (out finding.List) {
	message := fmt.Sprintf("AWS refuses to import the certificate of Secret %q: %s", do.Secret, failure.CodeAndMessage(f.Err))
	switch {
	case f.Skipped:
		message = fmt.Sprintf("the certificate of Secret %q is not imported now, because AWS refuses similar changes: %s", do.Secret, failure.CodeAndMessage(f.Err))
	case f.Class != failure.Invalid && f.Class != failure.Quota:
		message = fmt.Sprintf("the certificate of Secret %q is not imported: %s", do.Secret, strings.TrimPrefix(failure.WithoutSDKText(f.Err), attemptPrefix(f.Step)))
	case f.Class == failure.Invalid:
		fix = "correct the certificate in the Secret"
	}
	for _, use := range do.ReferencingFields {
		out.Add(finding.Finding{
			Object: use.Object, Field: use.Field, Reason: reason, Severity: finding.Error, Message: message + "; " + do.InterimText, Fix: fix,
		})
	}
	return out
}

// countText returns the number and the kind of steps as text, such as "3 new listeners".
func countText(do plan.Action, n int) string {
	switch do.(type) {
	case plan.SetTags:
		return fmt.Sprintf("%d changes of tags", n)
	case plan.SetAttributes:
		return fmt.Sprintf("%d changes of attributes", n)
	case plan.CreateTargetGroup:
		return fmt.Sprintf("%d new target groups", n)
	case plan.CreateListener:
		return fmt.Sprintf("%d new listeners", n)
	}
	return fmt.Sprintf("%d changes of one kind", n)
}

// ruleField returns the field from which a rule is translated, if the finding is about one step (n is 1). For several steps,
// it returns the kind of resource.
func (f FailedStep) ruleField(n int) string {
	if of := f.Step.Rule.Of.Field; of != "" && n == 1 {
		return of
	}
	return string(f.Step.Address.Kind)
}

// refusedRuleText returns the message about n rules that AWS refuses to create or change.
func (f FailedStep) refusedRuleText(kind model.Kind, conditions []model.Condition, actions []model.Action, n int) string {
	port, why := f.Step.Rule.Port, failure.CodeAndMessage(f.Err)
	text := model.Rule{Conditions: conditions}.Text(port)
	joined := f.Class == failure.Quota || f.Class == failure.Denied
	switch {
	case f.Class == failure.Quota && f.Step.NeedsExtraQuota && n > 1:
		return fmt.Sprintf("%d rules are changed in one step, because AWS has no room for a new target group beside the old one: %s; requests may fail until the new targets are healthy", n, why)
	case f.Class == failure.Quota && f.Step.NeedsExtraQuota:
		return fmt.Sprintf("the %s is changed in one step, because AWS has no room for a new target group beside the old one: %s; requests may fail until the new targets are healthy", text, why)
	case joined && n > 1:
		return fmt.Sprintf("AWS refuses %d rules: %s; existing rules stay unchanged, and new rules are not created", n, why)
	case n > 1:
		return fmt.Sprintf("%d rules are skipped in this run, because AWS refuses similar changes: %s", n, why)
	case f.Skipped && !joined:
		return fmt.Sprintf("the %s is skipped in this run, because AWS refuses similar changes: %s", text, why)
	}
	if value, ofAWS := refused.ValueOf(kind, f.Step, f.Err); ofAWS && f.Class == failure.Invalid {
		held := "the rule is held: requests for it get 503"
		if f.Step.Verb == plan.Update && !f.changesPlaceholder() {
			held = "the rule is held: it stays unchanged"
		}
		return fmt.Sprintf("%s; %s", value.Text(text), held)
	}
	then := "the rule is not created"
	switch {
	case f.Class == failure.Invalid:
		then = "the rule is held"
	case f.Class == failure.Unknown && !f.isHeld():
		then = "the controller tries again"
	case f.Step.Verb == plan.Update:
		then = "the rule stays unchanged"
	}
	return fmt.Sprintf("AWS refuses the %s that is to %s: %s; %s", text, plan.ActionsText(actions), why, then)
}

// changesPlaceholder reports whether a step would change the fixed response with status 503 that replaces a held rule. AWS
// has refused the actions of this rule before. The message must therefore be the same as for a rule that was never created.
func (f FailedStep) changesPlaceholder() bool {
	return slices.ContainsFunc(f.Step.Changes, func(c plan.Change) bool {
		return c.Path == "actions" && c.From == plan.ActionsText([]model.Action{plan.HeldResponse})
	})
}

// reasonAndFix returns the reason and the fix of a failure: those of the error, or else those of the failure class.
func reasonAndFix(f FailedStep) (reason finding.Reason, fix string) {
	if m, ok := failure.MeaningFromReason(f.Err); ok {
		return m.Reason, m.Fix
	}
	about := failure.Step
	if f.isKubernetesStep() {
		about = failure.Kubernetes
	}
	m, _ := failure.MeaningOf(about, f.Class, f.Err)
	return m.Reason, m.Fix
}

// attemptPrefix returns the prefix of the error of a step, which has the verb and the address of the step.
func attemptPrefix(s plan.Step) string { return fmt.Sprintf("%s %s: ", s.Verb, s.Address) }
