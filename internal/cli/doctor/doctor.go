// Package doctor checks what the controller needs: its cluster, its credentials, its permissions, its quotas.
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
)

// New returns the command doctor.
func New(env output.Environment) *cobra.Command {
	d := &doctor{Source: input.Source{Env: env}}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check credentials, permissions, discovery, definitions, webhooks, quotas and orphans", Args: output.NoArguments,
		Long: `doctor checks what the controller needs, with the credentials of the shell it runs in, and says what is wrong
and how to put it right: the API server, custom resource definitions, the lease of the controller, webhooks,
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

// doctor is the command doctor.
type doctor struct {
	input.Source
	form output.Form

	checks  []check
	aws     *cloud.Cloud
	checker *checks.Checker
	// api reads the cluster; nil without one. store is what it has; nil where that could not be read.
	api   client.Client
	store *cluster.Memory
	// lacking are the rights that were found missing, by the area that names them.
	lacking map[string]string
}

// The results of checks.
const (
	healthy = "ok"
	warned  = "warning"
	broken  = "error"
)

// check is what was looked at and what was found.
type check struct {
	// Area is what the check is about: kubernetes, definitions, controller, webhooks, classes, credentials, discovery,
	// permissions, quotas, accelerators, certificates or orphans.
	Area string `json:"area"`
	// Result is ok, warning or error.
	Result  string `json:"result"`
	Message string `json:"message"`
	// Fix is how to put it right.
	Fix string `json:"fix,omitempty"`
}

// Document is what doctor prints for tools.
type Document struct {
	Cluster  string  `json:"cluster"`
	Checks   []check `json:"checks"`
	Errors   int     `json:"errors"`
	Warnings int     `json:"warnings"`
}

// mostOrphans are shown one by one.
const mostOrphans = 10

// longestCheck bounds the text of one check.
const longestCheck = 1000

func (d *doctor) addResult(area, result, fix, format string, args ...any) {
	d.checks = append(d.checks, check{area, result, finding.Printable(finding.CutTo(longestCheck, fmt.Sprintf(format, args...))), fix})
}

// fail reports that a check could not be made.
func (d *doctor) fail(area string, err error, fix string) { d.addUnchecked(area, broken, err, fix, "") }

// addUnchecked reports that a check could not be made, after some words. A right that is missing is named once.
func (d *doctor) addUnchecked(area, result string, err error, fix, words string) {
	if sdk.IsSilent(err) {
		fix = "wait until AWS answers: see the AWS Health Dashboard and the network; credentials and permissions cannot be checked before that"
	}
	right, text := missingPermission(err)
	switch named := d.noteMissingPermission(right, area); named {
	case "":
		d.addResult(area, result, fix, "%s%s", words, text)
	case area:
	default:
		text = fmt.Sprintf("%snot checked in full, as %s is missing, see %q", words, right, named)
		if c := (check{area, warned, text, ""}); !slices.Contains(d.checks, c) {
			d.addResult(area, warned, "", "%s", text)
		}
	}
}

// noteMissingPermission notes that a right is missing, and returns the area that has named it before, "" if none has.
func (d *doctor) noteMissingPermission(right, area string) string {
	named := d.lacking[right]
	if right != "" && named == "" {
		if d.lacking == nil {
			d.lacking = map[string]string{}
		}
		d.lacking[right] = area
	}
	return named
}

// missingPermission returns the right that a failed call lacks, "" if it failed otherwise, and the error as a readable
// text.
func missingPermission(err error) (right, text string) {
	var api *apierrors.StatusError
	switch {
	case apierrors.IsForbidden(err) && errors.As(err, &api):
		text = api.ErrStatus.Message
		if of := api.ErrStatus.Details; of != nil && of.Kind != "" {
			return "the right to read " + schema.GroupResource{Group: of.Group, Resource: of.Kind}.String(), text
		}
		return text, text
	case checks.Denied(err):
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
		if err := d.TakeFlags(ctx, rc, d.Env.Stderr); err != nil {
			return err
		}
	}
	if err := d.Validate(); err != nil {
		return err
	}
	d.kubernetes(ctx)
	d.cloud(ctx)
	d.orphans(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	doc := Document{Cluster: d.Config.ClusterName, Checks: groupByArea(d.checks)}
	for _, c := range d.checks {
		switch c.Result {
		case broken:
			doc.Errors++
		case warned:
			doc.Warnings++
		}
	}
	if d.form.Text() {
		showChecks(d.form.Out(), doc)
	} else if err := d.form.Document(doc); err != nil {
		return err
	}
	if doc.Errors > 0 {
		return output.ErrReported
	}
	return nil
}

// groupByArea puts the checks of each area together, in the order in which the areas came first.
func groupByArea(list []check) []check {
	first := map[string]int{}
	for i, c := range list {
		if _, known := first[c.Area]; !known {
			first[c.Area] = i
		}
	}
	slices.SortStableFunc(list, func(a, b check) int { return cmp.Compare(first[a.Area], first[b.Area]) })
	return list
}

func showChecks(w io.Writer, doc Document) {
	for _, c := range doc.Checks {
		text := c.Message
		if c.Fix != "" {
			text += "; " + c.Fix
		}
		fmt.Fprintf(w, "%-8s%-13s%s\n", c.Result, c.Area, text)
	}
	fmt.Fprintf(w, "%s, %s\n", output.Amount(doc.Errors, "error"), output.Amount(doc.Warnings, "warning"))
}

// orphans compares AWS with the cluster, if both answer.
func (d *doctor) orphans(ctx context.Context) {
	const area = "orphans"
	if d.aws == nil || d.store == nil {
		return
	}
	doc, err := orphans.Find(ctx, &d.Source, d.aws, d.store)
	if err != nil {
		d.fail(area, err, "")
		return
	}
	if len(doc.Orphans) == 0 {
		d.addResult(area, healthy, "", "%s", doc.AllOwned())
	}
	output.ShowFirst(doc.Orphans, mostOrphans, func(o orphans.Orphan) {
		d.addResult(area, warned, "delete the resources in AWS, or see \"fulcrum orphans\"", "no object asks for %s of %s %s", output.JoinFirst(o.Resources), o.Kind, o.ID)
	}, func(n int) {
		d.addResult(area, warned, "see \"fulcrum orphans\"", "%d more load balancers have no object", n)
	})
}
