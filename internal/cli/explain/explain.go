// Package explain implements the command "fulcrum explain". The command shows the decisions about an object with their
// reasons, the meaning of the reason of a finding, and the listener rule that answers a request.
package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// New returns the command explain.
func New(env output.Environment) *cobra.Command {
	e := &explainCommand{Source: input.Source{Env: env}}
	cmd := &cobra.Command{
		Use: "explain [KIND/NAME | REASON]", Short: "Show the decisions about an object with their reasons, or the meaning of a reason",
		Long: `explain KIND/NAME shows what was decided about an Ingress, Service, Gateway, route, TargetGroupBinding or
GlobalAccelerator and why: the subnets that were considered and those that were refused, certificates and how
they were found, security groups, listeners, rules in order with the object and field that each comes from,
endpoints of accelerators and what permits them, what is held, and findings with their fix. If it reads a cluster, it also shows the last warnings
in the events and conditions of the object. It changes nothing.

A rule that comes from the object, or that forwards to the Service, is marked with >.

explain REASON shows the meaning of the first word of an event or condition; without an argument it lists all
reasons by subject. "fulcrum explain request" shows which rule answers a request.`,
		Example: `  fulcrum explain ingress/web -n shop --cluster-name=prod --aws-vpc-id=vpc-0123
  fulcrum explain httproute/pay -n bank --cluster-name=prod --aws-vpc-id=vpc-0123 -o json
  fulcrum explain CertificateNotFound`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if reasons := completeReasons(typed); len(reasons) > 0 && typed != "" && !strings.Contains(typed, "/") {
				return reasons, cobra.ShellCompDirectiveNoFileComp
			}
			return e.CompleteObjects(cmd, args, typed)
		},
		Args: cobra.ArbitraryArgs,
	}
	e.Bind(cmd)
	e.BindOffline(cmd)
	e.form.Bind(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := e.form.Check(); err != nil {
			return err
		}
		switch {
		case len(args) == 0:
			return e.showReasonList()
		case len(args) == 1 && !strings.Contains(args[0], "/"):
			return e.showReason(cmd, args[0])
		}
		return e.run(cmd, args)
	}
	cmd.AddCommand(newRequestCommand(env))
	return cmd
}

// reasonDocument is the meaning of a reason in a JSON or YAML document.
type reasonDocument struct {
	Reason finding.Reason `json:"reason"`
	// Subject is the subject of the reason, such as certificates.
	Subject string `json:"subject,omitempty"`
	// Means is the meaning of the reason.
	Means string `json:"means"`
	// WayOut is the usual fix.
	WayOut string `json:"wayOut"`
	// Blocks is what a finding with the reason usually holds: nothing, rule, listener, member or stack.
	Blocks string `json:"blocks"`
}

// ReasonsDocument is the output of "fulcrum explain" and "fulcrum explain REASON" as JSON or YAML.
type ReasonsDocument struct {
	Reasons []reasonDocument `json:"reasons"`
}

// showReason prints the meaning of the reason word. It ignores the case of word.
func (e *explainCommand) showReason(cmd *cobra.Command, word string) error {
	i := slices.IndexFunc(finding.Reasons, func(r finding.Explanation) bool { return strings.EqualFold(string(r.Reason), word) })
	if means, ok := SharedReasons[strings.ToLower(word)]; i < 0 && ok {
		if e.form.IsText() {
			fmt.Fprintf(e.form.Out(), "%s\n  %s\n", word, means)
			return nil
		}
		return e.form.PrintDocument(ReasonsDocument{[]reasonDocument{{Reason: finding.Reason(word), Means: means}}})
	}
	if i < 0 {
		var known []string
		for _, r := range finding.Reasons {
			known = append(known, string(r.Reason))
		}
		program := cmd.Root().CommandPath()
		return fmt.Errorf("unknown reason %q%s; run \"%s explain\" for the list, or \"%s explain KIND/NAME\" about an object",
			word, finding.SpellingHint(word, known), program, program)
	}
	return e.showReasons(finding.Reasons[i : i+1])
}

// SharedReasons maps the reasons of events and conditions that many findings share to their meanings. The keys are in lower
// case.
var SharedReasons = map[string]string{
	"failedbuildmodel":      sharedEventMeaning,
	"faileddeploymodel":     sharedEventMeaning,
	"failedloadgroupid":     sharedEventMeaning,
	"failedreconcile":       sharedEventMeaning,
	"unsupportedvalue":      sharedConditionMeaning,
	"backendnotready":       sharedConditionMeaning,
	"incompatiblefilters":   sharedConditionMeaning,
	"invalid":               sharedConditionMeaning,
	"invalidkind":           sharedConditionMeaning,
	"invalidparameters":     sharedConditionMeaning,
	"invalidcertificateref": sharedConditionMeaning,
	"listenersnotvalid":     sharedConditionMeaning,
	"refnotpermitted":       sharedConditionMeaning,
	"unsupportedprotocol":   sharedConditionMeaning,
	"protocolconflict":      sharedConditionMeaning,
	"hostnameconflict":      sharedConditionMeaning,
	"nomatchingparent":      sharedConditionMeaning,
	"notallowedbylisteners": sharedConditionMeaning,

	"nomatchinglistenerhostname": sharedConditionMeaning,
}

const (
	sharedEventMeaning     = "A reason of an event, which many faults share. Run explain with the first word of the message of the event."
	sharedConditionMeaning = "A reason of the Gateway API, which many faults share. The message of the condition names the field, what happens and how to fix it; explain KIND/NAME shows the finding."
)

// showReasonList prints the meanings of all reasons. Text groups them by subject; JSON and YAML have them in alphabetical
// order.
func (e *explainCommand) showReasonList() error {
	if !e.form.IsText() {
		return e.showReasons(finding.Reasons)
	}
	means := map[finding.Reason]string{}
	for _, r := range finding.Reasons {
		means[r.Reason] = r.Meaning
	}
	out := e.form.Out()
	for i, s := range finding.Subjects {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, s.Name)
		for _, r := range s.Reasons {
			fmt.Fprintf(out, "  %-24s %s\n", r, means[r])
		}
	}
	return nil
}

// showReasons prints the meanings of reasons.
func (e *explainCommand) showReasons(reasons []finding.Explanation) error {
	doc := ReasonsDocument{Reasons: []reasonDocument{}}
	out := e.form.Out()
	for _, r := range reasons {
		if e.form.IsText() {
			fmt.Fprintf(out, "%s\n  %s\n  Fix: %s\n  Usually holds: %s\n", r.Reason, r.Meaning, r.Remedy, r.UsualReach)
			continue
		}
		doc.Reasons = append(doc.Reasons, reasonDocument{r.Reason, finding.SubjectOf(r.Reason), r.Meaning, r.Remedy, r.UsualReach.String()})
	}
	if e.form.IsText() {
		return nil
	}
	return e.form.PrintDocument(doc)
}

// completeReasons returns the reasons of findings that begin with typed, in any case.
func completeReasons(typed string) []string {
	var out []string
	for _, r := range finding.Reasons {
		out = append(out, string(r.Reason))
	}
	return input.WithPrefix(out, typed)
}
