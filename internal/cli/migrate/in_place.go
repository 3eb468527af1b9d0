package migrate

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
)

// addTakeOverObstacles adds a note for each reason why the Gateway would not take over the load balancer of the Ingresses.
// want is the desired state of the Gateway, and port returns the Service port of a target group as text. The function
// compares desired states only, and reads nothing from AWS.
func (d *IngressGroup) addTakeOverObstacles(g migrate.IngressGroup, want model.Stack, port func(*model.Binding) string) {
	lost := migrate.Lost.String()
	if d.Gateway == "" {
		d.Notes = append(d.Notes, Note{lost, "", "", "the Ingresses are not translated, so no Gateway can take over their load balancer", "correct the problems in the other notes"})
		return
	}
	if want.Adopts == nil {
		return // the Gateway takes over no load balancer; other notes give the reason
	}
	for _, f := range handover.ObjectObstacles(want, g.IngressStack) {
		d.Notes = append(d.Notes, Note{lost, f.Object.String(), f.Field, f.Message, f.Fix})
	}
	differences := handover.Differences(want, g.IngressStack, observed.Stack{}, func(b model.Binding) string { return port(&b) })
	if !slices.ContainsFunc(differences, func(f finding.Finding) bool { return f.Severity == finding.Error }) {
		return // there are no differences, or annotations of the Ingresses accept them
	}
	gateway := finding.Ref{Kind: "Gateway", Namespace: want.ID.Namespace, Name: want.ID.Name}
	d.Notes = append(d.Notes, Note{lost, gateway.String(), naming.AdoptAnnotation,
		fmt.Sprintf("the load balancer of %s is not taken over: the Gateway would answer some requests differently or have different settings", g.ID.Title()),
		fmt.Sprintf("change the routes; to accept that, annotate each Ingress with %s: %s", naming.AdoptedByAnnotation, want.ID)})
}
