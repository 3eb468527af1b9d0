// Package doctor has the command doctor, which checks what the controller needs: the objects of the cluster, credentials,
// permissions and quotas.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/orphans"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/checks"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// New returns the command doctor.
func New(env output.Environment) *cobra.Command {
	d := &doctor{Source: input.Source{Env: env}}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check credentials, permissions, discovery, definitions, webhooks, quotas and orphans", Args: output.NoArguments,
		Long: `doctor checks what the controller needs, with the credentials of your shell, and reports what is wrong
and how to fix it: the API server, custom resource definitions, the lease of the controller, webhooks,
credentials and region, VPC and subnets, permissions in AWS, quotas, imported certificates, and resources that no
object owns. It changes nothing: permissions are tried by calls that read and by dry runs.

Each line begins with ok, warning or error. Exit codes: 0 no error, 1 an error.`,
		Example: `  fulcrum doctor --cluster-name=prod --aws-vpc-id=vpc-0123`,
	}
	d.Bind(cmd)
	for _, name := range []string{"filename", "files-only", "observed", "record", "namespace", "all-namespaces"} {
		cmd.Flags().Lookup(name).Hidden = true
	}
	d.form.Bind(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return d.run(cmd) }
	return cmd
}

// doctor has the flags and the results of the command doctor.
type doctor struct {
	input.Source
	form output.Format

	checks  []check
	aws     *cloud.Cloud
	checker *checks.Checker
	// api is the client for the API server. It is nil if the API server was not reached.
	api client.Client
	// store has the objects of the cluster. It is nil if they could not be read.
	store *cluster.Memory
	// missingPermissions maps each missing permission to the area that has reported it.
	missingPermissions map[string]string
}

// The values of check.Result.
const (
	resultOK      = "ok"
	resultWarning = "warning"
	resultError   = "error"
)

// check is one line of the output: the result of a check in an area.
type check struct {
	// Area is the subject of the check: kubernetes, definitions, controller, webhooks, classes, credentials, discovery,
	// permissions, quotas, accelerators, certificates or orphans.
	Area string `json:"area"`
	// Result is ok, warning or error.
	Result  string `json:"result"`
	Message string `json:"message"`
	// Fix describes what a user can do about a warning or an error.
	Fix string `json:"fix,omitempty"`
}

// Document is the output of the command doctor as JSON or YAML.
type Document struct {
	Cluster  string  `json:"cluster"`
	Checks   []check `json:"checks"`
	Errors   int     `json:"errors"`
	Warnings int     `json:"warnings"`
}

// maxOrphansShown is the maximum number of load balancers whose orphans doctor prints.
const maxOrphansShown = 10

// maxMessageLength is the maximum length of the message of a check.
const maxMessageLength = 1000

// addResult adds the result of a check. It truncates the message to maxMessageLength.
func (d *doctor) addResult(area, result, fix, format string, args ...any) {
	d.checks = append(d.checks, check{area, result, finding.EscapeNonPrintable(finding.Truncate(fmt.Sprintf(format, args...), maxMessageLength)), fix})
}

// addFailure adds an error about a check that could not be made because of err.
func (d *doctor) addFailure(area string, err error, fix string) {
	d.addUnchecked(area, resultError, err, fix, "")
}

// addUnchecked adds a result about a check that could not be made because of err. The message begins with prefix. A missing
// permission is reported in full only in the first area that needs it. Other areas refer to that area.
func (d *doctor) addUnchecked(area, result string, err error, fix, prefix string) {
	if sdk.IsUnanswered(err) {
		fix = "wait until AWS answers: see the AWS Health Dashboard and the network; credentials and permissions cannot be checked before that"
	}
	right, text := missingPermission(err)
	switch reportedIn := d.recordMissingPermission(right, area); reportedIn {
	case "":
		d.addResult(area, result, fix, "%s%s", prefix, text)
	case area:
	default:
		text = fmt.Sprintf("%snot checked in full, as %s is missing, see %q", prefix, right, reportedIn)
		if c := (check{area, resultWarning, text, ""}); !slices.Contains(d.checks, c) {
			d.addResult(area, resultWarning, "", "%s", text)
		}
	}
}

// recordMissingPermission records that an area has reported the missing permission right. It returns the area that
// reported the permission earlier, or "" if there is none. If right is "", it does nothing and returns "".
func (d *doctor) recordMissingPermission(right, area string) string {
	reportedIn := d.missingPermissions[right]
	if right != "" && reportedIn == "" {
		if d.missingPermissions == nil {
			d.missingPermissions = map[string]string{}
		}
		d.missingPermissions[right] = area
	}
	return reportedIn
}

// missingPermission returns the permission that a failed call needs, and the error as a readable text. right is "" if the
// call failed for another reason.
func missingPermission(err error) (right, text string) {
	var api *apierrors.StatusError
	switch {
	case apierrors.IsForbidden(err) && errors.As(err, &api):
		text = api.ErrStatus.Message
		if details := api.ErrStatus.Details; details != nil && details.Kind != "" {
			return "the right to read " + schema.GroupResource{Group: details.Group, Resource: details.Kind}.String(), text
		}
		return text, text
	case checks.IsDenied(err):
		right = fmt.Sprintf("the right to call %q", sdk.CallOf(err))
	}
	return right, sdk.Explain(err).Error()
}

func (d *doctor) run(cmd *cobra.Command) error {
	if err := d.form.Check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	if rc, err := input.ReadOnlyConfig(d.Config.Kubernetes.Kubeconfig, d.Context, d.Env); err == nil && input.CheckReachable(ctx, rc) == nil {
		if err := d.SetControllerFlags(ctx, rc, d.Env.Stderr); err != nil {
			return err
		}
	}
	if err := d.Validate(); err != nil {
		return err
	}
	d.checkKubernetes(ctx)
	d.checkAWS(ctx)
	d.checkOrphans(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	doc := Document{Cluster: d.Config.ClusterName, Checks: sortByArea(d.checks)}
	for _, c := range d.checks {
		switch c.Result {
		case resultError:
			doc.Errors++
		case resultWarning:
			doc.Warnings++
		}
	}
	if d.form.IsText() {
		showChecks(d.form.Out(), doc)
	} else if err := d.form.PrintDocument(doc); err != nil {
		return err
	}
	if doc.Errors > 0 {
		return output.ErrReported
	}
	return nil
}

// sortByArea sorts the checks in place by area, in the order in which the areas first occur, and returns them.
func sortByArea(list []check) []check {
	first := map[string]int{}
	for i, c := range list {
		if _, found := first[c.Area]; !found {
			first[c.Area] = i
		}
	}
	slices.SortStableFunc(list, func(a, b check) int { return cmp.Compare(first[a.Area], first[b.Area]) })
	return list
}

// showChecks prints one line for each check, and the numbers of errors and warnings.
func showChecks(w io.Writer, doc Document) {
	for _, c := range doc.Checks {
		text := c.Message
		if c.Fix != "" {
			text += "; " + c.Fix
		}
		fmt.Fprintf(w, "%-8s%-13s%s\n", c.Result, c.Area, text)
	}
	fmt.Fprintf(w, "%s, %s\n", output.CountWithNoun(doc.Errors, "error"), output.CountWithNoun(doc.Warnings, "warning"))
}

// checkOrphans reports orphans. It does nothing unless both AWS and the cluster could be read.
func (d *doctor) checkOrphans(ctx context.Context) {
	const area = "orphans"
	if d.aws == nil || d.store == nil {
		return
	}
	doc, err := orphans.Find(ctx, &d.Source, d.aws, d.store)
	if err != nil {
		d.addFailure(area, err, "")
		return
	}
	if len(doc.Orphans) == 0 {
		d.addResult(area, resultOK, "", "%s", doc.NoOrphansText())
	}
	output.ShowFirst(doc.Orphans, maxOrphansShown, func(o orphans.Orphan) {
		d.addResult(area, resultWarning, "delete the resources in AWS, or see \"fulcrum orphans\"", "no object needs %s of %s %s", output.JoinFirst(o.Resources), model.Kind(o.Kind).ObjectKind(), o.ID)
	}, func(n int) {
		d.addResult(area, resultWarning, "see \"fulcrum orphans\"", "%d more load balancers have no object", n)
	})
}
