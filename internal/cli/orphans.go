package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

func newOrphans(env Environment) *cobra.Command {
	d := &drafting{env: env}
	cmd := &cobra.Command{
		Use: "orphans", Short: "List AWS resources with the tags of the cluster that no Ingress asks for", Args: noArguments,
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
		found, err := controller.FindOrphans(ctx, owner, cl.View, controller.Frontends(d.cfg), d.cfg.Kubernetes.WatchNamespace)
		if err != nil {
			return err
		}
		for _, o := range found {
			fmt.Fprintf(out, "%s %s\n", o.ID.Kind, o.ID)
			for _, r := range o.Resources {
				fmt.Fprintf(out, "  %s\n", r)
			}
		}
		if len(found) == 0 {
			fmt.Fprintln(out, "every resource with the tags of the cluster belongs to an Ingress")
			return nil
		}
		fmt.Fprintf(out, "no Ingress asks for these resources; they stay; %s\n", controller.OrphanFix)
		return nil
	}
	return cmd
}
