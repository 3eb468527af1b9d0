// Package orphans implements the command "fulcrum orphans", which lists AWS resources that belong to the cluster but that no
// object needs.
package orphans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// New returns the command orphans.
func New(env output.Environment) *cobra.Command {
	o := &orphansCommand{Source: input.Source{Env: env}}
	cmd := &cobra.Command{
		Use: "orphans", Short: "List AWS resources with the tags of the cluster that no object needs", Args: output.NoArguments,
	}
	o.Bind(cmd)
	o.form.Bind(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

// orphansCommand has the flags of the command orphans.
type orphansCommand struct {
	input.Source
	form output.Format
}

// Document is the output of "fulcrum orphans" as JSON or YAML.
type Document struct {
	Cluster string `json:"cluster"`
	// Namespace is the only namespace that was checked. It is missing if all namespaces and IngressGroups were checked.
	Namespace string `json:"namespace,omitempty"`
	// Stacks is the number of stacks in the tags of AWS resources of the cluster, with and without orphans.
	Stacks  int      `json:"stacks"`
	Orphans []Orphan `json:"orphans"`
}

// Orphan has the AWS resources of a stack that no object needs.
type Orphan struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Resources are the ARNs and IDs of the AWS resources.
	Resources []string `json:"resources"`
}

func (o *orphansCommand) run(cmd *cobra.Command) error {
	if err := o.form.Check(); err != nil {
		return err
	}
	if len(o.Files) > 0 || o.FilesOnly || o.ObservedFile != "" {
		return errPartial
	}
	store, err := o.Objects(cmd.Context(), cmd.InOrStdin(), o.form.NotesWriter())
	if err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	aws, _, err := o.Connect(cmd.Context())
	if err != nil {
		return err
	}
	doc, err := Find(cmd.Context(), &o.Source, aws, store)
	if err != nil {
		return sdk.Explain(err)
	}
	if !o.form.IsText() {
		return o.form.PrintDocument(doc)
	}
	showOrphans(o.form.Out(), doc)
	return nil
}

// errPartial is the error if flags limit the command to a part of the cluster or of AWS.
var errPartial = errors.New("--filename, --files-only and --observed show only a part of the cluster or of AWS, so other resources would look like orphans; omit these flags to compare the cluster with AWS")

// checkOwnersRead returns an error if objects that own stacks were not read.
func checkOwnersRead(d *input.Source) error {
	if len(d.Files) > 0 || d.FilesOnly {
		return errPartial
	}
	if kinds := input.UnavailableKinds(d, cluster.KindIngress, cluster.KindService, cluster.KindGateway, cluster.KindGlobalAccelerator); len(kinds) > 0 {
		return fmt.Errorf("you have no permission to list objects of kind %s in namespace %q, whose load balancers would seem to be orphans; bind the rules of config/rbac with the verbs get and list to the user or role that runs this command", kinds[0], d.Namespace)
	}
	return nil
}

// Find returns the AWS resources with tags of the cluster that no object in store needs. If the command or the controller is
// limited to a namespace, it returns only those of that namespace. It returns an error if objects that may need resources
// were not read.
func Find(ctx context.Context, d *input.Source, aws engine.Cloud, store *cluster.Memory) (Document, error) {
	doc := Document{Cluster: d.Config.ClusterName, Namespace: cmp.Or(d.Namespace, d.Config.Kubernetes.WatchNamespace), Orphans: []Orphan{}}
	if err := checkOwnersRead(d); err != nil {
		return doc, err
	}
	lister, ok := aws.(controller.OwnedLister)
	if !ok {
		return doc, errors.New("this AWS client cannot list resources")
	}
	counted := &countingLister{OwnedLister: lister}
	view := kube.New(store, kube.MemoryAPI{Store: store}, clock.RealClock{}).View
	found, err := controller.FindOrphans(ctx, counted, view, controller.Frontends(d.Config), d.Config.Kubernetes.WatchNamespace)
	if err != nil {
		return doc, err
	}
	doc.Stacks = counted.stacks
	for _, f := range found {
		if d.Namespace == "" || f.ID.Namespace == d.Namespace {
			doc.Orphans = append(doc.Orphans, Orphan{string(f.ID.Kind), f.ID.String(), f.Resources})
		}
	}
	return doc, nil
}

// NoOrphansText returns the text that is shown if there are no orphans. It names the namespace if only one was checked.
func (d Document) NoOrphansText() string {
	if d.Namespace == "" {
		return fmt.Sprintf("every AWS resource with the tags of cluster %q belongs to an object", d.Cluster)
	}
	return fmt.Sprintf("every AWS resource with the tags of cluster %q and of namespace %q belongs to an object; resources of other namespaces and of IngressGroups were not checked", d.Cluster, d.Namespace)
}

// showOrphans prints the orphans, and commands that delete their certificates.
func showOrphans(w io.Writer, doc Document) {
	var certificates []string
	for _, o := range doc.Orphans {
		fmt.Fprintf(w, "%s %s\n", model.Kind(o.Kind).ObjectKind(), o.ID)
		for _, r := range o.Resources {
			fmt.Fprintf(w, "  %s\n", r)
			if arn := strings.Split(r, ":"); len(arn) > 3 && arn[2] == "acm" {
				certificates = append(certificates, fmt.Sprintf("aws acm delete-certificate --region %s --certificate-arn %s", arn[3], r))
			}
		}
	}
	switch {
	case doc.Stacks == 0:
		fmt.Fprintf(w, "no resource in AWS has the tags of cluster %q; check --cluster-name and the region if there are load balancers\n", doc.Cluster)
	case len(doc.Orphans) == 0:
		fmt.Fprintln(w, doc.NoOrphansText())
	default:
		fmt.Fprintf(w, "no object needs these resources; they are not deleted; %s\n", controller.OrphanFix)
	}
	if len(certificates) > 0 {
		fmt.Fprintln(w, "to delete the certificates:")
	}
	for _, command := range certificates {
		fmt.Fprintf(w, "  %s\n", command)
	}
}

// countingLister counts the stacks that an OwnedLister returns.
type countingLister struct {
	controller.OwnedLister
	stacks int
}

// Owned implements controller.OwnedLister.
func (l *countingLister) Owned(ctx context.Context, kind model.Kind) (map[model.StackID][]string, error) {
	owned, err := l.OwnedLister.Owned(ctx, kind)
	l.stacks += len(owned)
	return owned, err
}
