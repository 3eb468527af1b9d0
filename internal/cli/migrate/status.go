package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
)

// StatusDocument is what migrate status prints for tools.
type StatusDocument struct {
	// Cluster is the value of --cluster-name.
	Cluster string `json:"cluster"`
	// LoadBalancers are the load balancers of Ingresses and IngressGroups, and those that a Gateway asks for or has
	// taken over.
	LoadBalancers []Status `json:"loadBalancers"`
}

// Status is where a load balancer is on its way to a Gateway.
type Status struct {
	// Kind is Ingress or Service; it is missing where the annotation of the Gateway names nothing.
	Kind string `json:"kind,omitempty"`
	// ID is NAMESPACE/NAME, or the name of an IngressGroup.
	ID string `json:"id,omitempty"`
	// Members are the objects that the load balancer was made for, and that are still there.
	Members []output.Object `json:"members"`
	// Gateway is NAMESPACE/NAME of the one that asks for the load balancer or has it; it is missing where none does.
	Gateway string `json:"gateway,omitempty"`
	// State is ingress, shadow, refused, adopting, adopted, giving-back, released or unknown.
	State handover.State `json:"state"`
	// Reason is why the state is not known.
	Reason string `json:"reason,omitempty"`
	// Obstacles are findings for which the Gateway does not take the load balancer over.
	Obstacles []output.Finding `json:"obstacles"`
	// Notes are what else is to be known before the next step.
	Notes []string `json:"notes"`
	// Steps is how many steps the plan of the Gateway has.
	Steps int `json:"steps"`
	// Next is what to do.
	Next string `json:"next"`
	// Command is the command for it, or one that shows more.
	Command string `json:"command,omitempty"`
	// Back is the command by which the load balancer is given back to the Ingresses; it is missing where there is nothing to give
	// back.
	Back string `json:"back,omitempty"`

	from model.StackID
	// kept: the Gateway keeps the load balancer whatever its annotations are.
	kept bool
	// beside: nothing can be taken over, and the Gateways get load balancers of their own.
	beside bool
}

func newStatus(env output.Environment) *cobra.Command {
	s := &statusCommand{Source: input.Source{Env: env}}
	cmd := &cobra.Command{
		Use: "status [KIND/NAME ...]", Short: "Show how far load balancers have moved to Gateways, and what to do next",
		Long: `status shows for each Ingress and IngressGroup, and for each Gateway with the annotation fulcrum.dev/adopt, who has
the load balancer, what is in the way, and the next step as a command. It changes nothing.

  ingress      no Gateway asks for the load balancer
  shadow       a Gateway asks for it and is only planned (gateway.k8s.aws/dry-run)
  refused      a Gateway asks for it, and something is in the way; nothing is changed
  adopting     the Gateway takes it over
  adopted      all of it is the Gateway's, and the Ingresses are still there: it can be given back
  giving-back  the Ingresses take it back
  released     all of it is the Gateway's, and no Ingress is left
  unknown      the state cannot be determined, for the reason that is shown

Tags in AWS decide how far a load balancer is. They are read with your rights and with the flags of the controller that
runs, or with those given here.

Exit codes: 0 no Gateway asks for a load balancer or has taken one over, 2 some do: there is something to do or to wait for,
1 the state of something is not known, or the command failed.`,
		Example: `  fulcrum migrate status
  fulcrum migrate status -n shop
  fulcrum migrate status gateway/edge -n shop -o json`,
		ValidArgsFunction: s.CompleteObjects,
	}
	s.Bind(cmd)
	s.form.Bind(cmd, env)
	for _, name := range []string{"filename", "files-only", "observed", "record"} {
		output.Must(cmd.Flags().MarkHidden(name)) // a move is about what is there
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) }
	return cmd
}

// statusCommand is the command migrate status.
type statusCommand struct {
	input.Source
	form      output.Form
	steps     steps
	store     *cluster.Memory
	frontends engine.Frontends
	drafts    map[model.StackID]drafted
	// outage is why AWS is not asked any more.
	outage error
}

// drafted is the plan of a stack, or why there is none.
type drafted struct {
	engine.Draft
	err error
}

func (s *statusCommand) run(cmd *cobra.Command, args []string) error {
	if err := s.form.Check(); err != nil {
		return err
	}
	for _, name := range []string{"filename", "files-only", "observed", "record"} {
		if cmd.Flags().Changed(name) {
			return output.NewUsageError(fmt.Errorf("--%s is not read by status, which is about what the cluster and AWS have; leave it out", name))
		}
	}
	if err := s.Parse(args, s.NamespaceOfObjects()); err != nil {
		return err
	}
	s.steps = stepsOf(cmd) // before the flags of the controller are taken over
	doc, err := s.look(cmd)
	if err != nil {
		return err
	}
	if s.form.Text() {
		showStatus(cmd.OutOrStdout(), s.form.Out(), doc)
		if len(doc.LoadBalancers) == 0 {
			s.ReportUnserved(s.form.Out(), s.store)
		}
	} else if err := s.form.Document(doc); err != nil {
		return err
	}
	in := func(states ...handover.State) bool {
		return slices.ContainsFunc(doc.LoadBalancers, func(x Status) bool { return slices.Contains(states, x.State) })
	}
	switch {
	case in(handover.Indeterminate):
		return output.ErrReported
	case in(handover.Shadow, handover.Refused, handover.Adopting, handover.Adopted, handover.GivingBack, handover.Released):
		return output.ErrChanges
	}
	return nil
}

// look reads the cluster and AWS.
func (s *statusCommand) look(cmd *cobra.Command) (StatusDocument, error) {
	ctx := cmd.Context()
	doc := StatusDocument{LoadBalancers: []Status{}}
	var err error
	if s.store, err = s.Objects(ctx, cmd.InOrStdin(), s.form.Notes()); err != nil {
		return doc, err
	}
	doc.Cluster = s.Config.ClusterName
	if err := s.Validate(); err != nil {
		return doc, err
	}
	s.frontends, s.drafts = controller.Frontends(s.Config), map[model.StackID]drafted{}
	s.outage = input.Open(ctx, &s.Source, s.store)
	for _, m := range s.moves(ctx) {
		one := s.status(ctx, m)
		if one.State == handover.InIngress && len(one.Members) == 0 && !s.draft(ctx, m.from).Translated.Held.Everything {
			continue // its last Ingress is leaving it
		}
		doc.LoadBalancers = append(doc.LoadBalancers, one)
	}
	slices.SortStableFunc(doc.LoadBalancers, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Gateway, b.Gateway))
	})
	return doc, nil
}

// draft makes the plan of a stack once. After a call that AWS did not answer it asks no more: each one would wait as long.
func (s *statusCommand) draft(ctx context.Context, id model.StackID) drafted {
	if d, known := s.drafts[id]; known {
		return d
	}
	var d drafted
	switch {
	case s.frontends[id.Kind] == nil:
		d.err = off(id.Kind)
	case s.outage != nil:
		d.err = s.outage
	default:
		d.Draft, d.err = input.DraftOf(ctx, &s.Source, id)
		if failure.HasNoAnswer(d.err) || errors.Is(d.err, context.DeadlineExceeded) {
			s.outage = d.err
		}
	}
	s.drafts[id] = d
	return d
}
