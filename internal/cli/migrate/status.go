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

// StatusDocument is the output of "fulcrum migrate status" as JSON or YAML.
type StatusDocument struct {
	// Cluster is the value of --cluster-name.
	Cluster string `json:"cluster"`
	// LoadBalancers are the load balancers of Ingresses and IngressGroups, and those that a Gateway requests or has taken
	// over.
	LoadBalancers []Status `json:"loadBalancers"`
}

// Status is the state of the move of a load balancer to a Gateway.
type Status struct {
	// Kind is Ingress or Service. It is missing if the annotation of the Gateway names no object.
	Kind string `json:"kind,omitempty"`
	// ID is NAMESPACE/NAME, or the name of an IngressGroup.
	ID string `json:"id,omitempty"`
	// Members are the Ingresses or Services of the load balancer that still exist.
	Members []output.Object `json:"members"`
	// Gateway is NAMESPACE/NAME of the Gateway that requests the load balancer or has taken it over. It is missing if there
	// is no such Gateway.
	Gateway string `json:"gateway,omitempty"`
	// State is ingress, shadow, refused, adopting, adopted, giving-back, released or unknown.
	State handover.State `json:"state"`
	// Reason is why the state is not known.
	Reason string `json:"reason,omitempty"`
	// Obstacles are the findings that prevent the Gateway from taking over the load balancer.
	Obstacles []output.Finding `json:"obstacles"`
	// Notes are facts that matter for the next step but are not obstacles.
	Notes []string `json:"notes"`
	// Steps is the number of steps in the plan of the Gateway.
	Steps int `json:"steps"`
	// Next is the next step.
	Next string `json:"next"`
	// Command is the command for the next step, or a command that shows more details.
	Command string `json:"command,omitempty"`
	// Back is the command with which the Gateway gives the load balancer back to the Ingresses. It is missing if the Gateway
	// cannot give it back.
	Back string `json:"back,omitempty"`

	fromStack model.StackID
	// cannotGiveBack reports whether the Gateway cannot give the load balancer back by its annotations.
	cannotGiveBack bool
	// cannotBeTakenOver reports whether no Gateway can take over the load balancer. In that case, a Gateway gets a new
	// load balancer.
	cannotBeTakenOver bool
}

// newStatusCommand returns the command migrate status.
func newStatusCommand(env output.Environment) *cobra.Command {
	s := &statusCommand{Source: input.Source{Env: env}}
	cmd := &cobra.Command{
		Use: "status [KIND/NAME ...]", Short: "Show how far load balancers have moved to Gateways, and what to do next",
		Long: `status shows for each Ingress and IngressGroup, and for each Gateway with the annotation fulcrum.dev/adopt, which object owns
the load balancer, the obstacles, and the next step as a command. It changes nothing.

  ingress      no Gateway requests the load balancer
  shadow       a Gateway requests it and is only planned (gateway.k8s.aws/dry-run)
  refused      a Gateway requests it, and there are obstacles; nothing is changed
  adopting     the Gateway takes it over
  adopted      the Gateway owns all of it, and the Ingresses or Services still exist: it can be given back
  giving-back  the Ingresses or Services take it back
  released     the Gateway owns all of it, and no Ingress or Service requests it any more
  unknown      the state cannot be determined, for the reason that is shown

Tags in AWS determine the state of a load balancer. They are read with your rights and with the flags of the controller that
runs, or with those given here.

Exit codes: 0 no Gateway requests a load balancer or has taken one over, 2 a Gateway does: there is a next step or a wait,
1 the state of a load balancer is not known, or the command failed.`,
		Example: `  fulcrum migrate status
  fulcrum migrate status -n shop
  fulcrum migrate status gateway/edge -n shop -o json`,
		ValidArgsFunction: s.CompleteObjects,
	}
	s.Bind(cmd)
	s.form.Bind(cmd, env)
	for _, name := range []string{"filename", "files-only", "observed", "record"} {
		output.Must(cmd.Flags().MarkHidden(name)) // the status of a move needs the cluster and AWS
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) }
	return cmd
}

// statusCommand has the flags and the state of the command migrate status.
type statusCommand struct {
	input.Source
	form      output.Format
	commands  commandLines
	store     *cluster.Memory
	frontends engine.Frontends
	drafts    map[model.StackID]draftResult
	// awsErr is the error of input.Open, or of a call that AWS did not answer. If it is set, no more plans are made.
	awsErr error
}

// draftResult is the plan of a stack, or the reason why there is none.
type draftResult struct {
	engine.Draft
	err error
}

func (s *statusCommand) run(cmd *cobra.Command, args []string) error {
	if err := s.form.Check(); err != nil {
		return err
	}
	for _, name := range []string{"filename", "files-only", "observed", "record"} {
		if cmd.Flags().Changed(name) {
			return output.NewUsageError(fmt.Errorf("status does not support --%s, because it shows what the cluster and AWS have; omit the flag", name))
		}
	}
	if err := s.Parse(args, s.NamespaceOfObjects()); err != nil {
		return err
	}
	s.commands = newCommandLines(cmd) // before the flags of the running controller are applied
	doc, err := s.readStatus(cmd)
	if err != nil {
		return err
	}
	if s.form.IsText() {
		showStatus(cmd.OutOrStdout(), s.form.Out(), doc)
		if len(doc.LoadBalancers) == 0 {
			s.ReportUnservedNamedObjects(s.form.Out(), s.store)
		}
	} else if err := s.form.PrintDocument(doc); err != nil {
		return err
	}
	inState := func(states ...handover.State) bool {
		return slices.ContainsFunc(doc.LoadBalancers, func(s Status) bool { return slices.Contains(states, s.State) })
	}
	switch {
	case inState(handover.StateIndeterminate):
		return output.ErrReported
	case inState(handover.StateShadow, handover.StateRefused, handover.StateAdopting, handover.StateAdopted, handover.StateGivingBack, handover.StateReleased):
		return output.ErrChanges
	}
	return nil
}

// readStatus reads the cluster and AWS, and returns the status of all selected load balancers.
func (s *statusCommand) readStatus(cmd *cobra.Command) (StatusDocument, error) {
	ctx := cmd.Context()
	doc := StatusDocument{LoadBalancers: []Status{}}
	var err error
	if s.store, err = s.Objects(ctx, cmd.InOrStdin(), s.form.NotesWriter()); err != nil {
		return doc, err
	}
	doc.Cluster = s.Config.ClusterName
	if err := s.Validate(); err != nil {
		return doc, err
	}
	s.frontends, s.drafts = controller.Frontends(s.Config), map[model.StackID]draftResult{}
	s.awsErr = input.Open(ctx, &s.Source, s.store)
	for _, m := range s.moves(ctx) {
		status := s.status(ctx, m)
		if status.State == handover.StateNotRequested && len(status.Members) == 0 && !s.draft(ctx, m.fromStack).TranslatedStack.Held.AllResources {
			continue // the last Ingress of the load balancer is being deleted or moves to another load balancer
		}
		doc.LoadBalancers = append(doc.LoadBalancers, status)
	}
	slices.SortStableFunc(doc.LoadBalancers, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Gateway, b.Gateway))
	})
	return doc, nil
}

// draft returns the plan of a stack. It makes the plan only at the first call for the stack. After a call that AWS did not
// answer it makes no more plans, because each call would wait for its deadline.
func (s *statusCommand) draft(ctx context.Context, id model.StackID) draftResult {
	if d, known := s.drafts[id]; known {
		return d
	}
	var d draftResult
	switch {
	case s.frontends[id.Kind] == nil:
		d.err = gateOffError(id.Kind)
	case s.awsErr != nil:
		d.err = s.awsErr
	default:
		d.Draft, d.err = input.DraftOf(ctx, &s.Source, id)
		if failure.IsUnanswered(d.err) || errors.Is(d.err, context.DeadlineExceeded) {
			s.awsErr = d.err
		}
	}
	s.drafts[id] = d
	return d
}
