package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func newOrphans(env Environment) *cobra.Command {
	d := &drafting{env: env}
	cmd := &cobra.Command{
		Use: "orphans", Short: "List AWS resources with the tags of the cluster that no object asks for", Args: noArguments,
	}
	d.bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, out := cmd.Context(), cmd.OutOrStdout()
		if len(d.files) > 0 || d.filesOnly || d.observed != "" {
			return errors.New("--filename, --files-only and --observed show a part of the cluster or of AWS, and the rest would seem to be orphans; leave them out to compare the cluster with AWS")
		}
		store, err := d.objects(ctx, cmd.InOrStdin(), out)
		if err != nil {
			return err
		}
		if err := d.cfg.Validate(); err != nil {
			return err
		}
		aws, _, err := d.connect(ctx)
		if err != nil {
			return err
		}
		owner, ok := aws.(controller.Owner)
		if !ok {
			return errors.New("AWS cannot be listed")
		}
		cl := kube.New(store, kube.InMemory{Store: store}, time.Now)
		counted := &countedOwner{Owner: owner}
		found, err := controller.FindOrphans(ctx, counted, cl.View, controller.Frontends(d.cfg), d.cfg.Kubernetes.WatchNamespace)
		if err != nil {
			return err
		}
		showOrphans(out, d.cfg.ClusterName, counted.stacks, found)
		return nil
	}
	return cmd
}

// showOrphans writes what was found among the resources of so many load balancers.
func showOrphans(w io.Writer, cluster string, stacks int, found []controller.Orphan) {
	for _, o := range found {
		fmt.Fprintf(w, "%s %s\n", o.ID.Kind, o.ID)
		for _, r := range o.Resources {
			fmt.Fprintf(w, "  %s\n", r)
		}
	}
	switch {
	case stacks == 0:
		fmt.Fprintf(w, "no resource in AWS has the tags of cluster %q; check --cluster-name and the region if there are load balancers\n", cluster)
	case len(found) == 0:
		fmt.Fprintf(w, "every resource with the tags of cluster %q belongs to an object\n", cluster)
	default:
		fmt.Fprintf(w, "no object asks for these resources; they stay; %s\n", controller.OrphanFix)
	}
}

// countedOwner counts the load balancers that resources in AWS belong to.
type countedOwner struct {
	controller.Owner
	stacks int
}

// Owned is that of the Owner.
func (o *countedOwner) Owned(ctx context.Context, kind model.Kind) (map[model.StackID][]string, error) {
	owned, err := o.Owner.Owned(ctx, kind)
	o.stacks += len(owned)
	return owned, err
}
