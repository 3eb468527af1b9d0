package controller

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// runShadow runs the process in shadow mode: it reads and plans, while another controller manages the load balancers of the
// cluster. It acquires no lease, and uses neither webhooks nor checkpoints. It returns when ctx ends, or with an error.
func runShadow(ctx context.Context, s Setup, probes *Probes, metrics *Metrics) error {
	c, err := connect(ctx, s, ShadowFence, nil, probes, metrics)
	if err != nil {
		return err
	}
	aws, mgr, source := c.aws, c.mgr, c.source
	fenced, err := client.New(s.REST, client.Options{Scheme: mgr.GetScheme(), HTTPClient: kube.FencedClient(mgr.GetHTTPClient(), ShadowFence), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("create the client of the API server: %w", err)
	}
	cl := kube.New(source, kube.ClientAPI{Client: fenced}, clock.RealClock{})
	bc := BindingConfig(s.Config, aws.VPC, ShadowFence)
	bc.Cloud, bc.Cluster, bc.Clock = aws.Targets, cl, clock.RealClock{}
	shadow, stacks, bound := NewShadow(engine.Config{
		Cloud: aws.Stacks, Cluster: cl, Frontends: Frontends(withDiscoveredSettings(s.Config, aws)), Options: PlanOptions(s.Config, aws.VPC), Clock: clock.RealClock{},
	}, bc, metrics)
	stacks.Workers, bound.Workers = s.Config.Workers.Ingress, s.Config.Workers.Binding
	lines := s.Log.WithName("shadow")
	if err := stacks.Add(mgr, source, withEndpointKind(s.Config, StackKinds()), lines); err != nil {
		return err
	}
	if err := bound.Add(mgr, source, withEndpointKind(s.Config, BindingKinds()), lines); err != nil {
		return err
	}
	runnables := []manager.RunnableFunc{
		func(ctx context.Context) error {
			return dropUnusedSecrets(ctx, source, c.secrets, stacks.Triggers.IsRead)
		},
		func(ctx context.Context) error { return shadow.PlanRulesPeriodically(ctx, source.WaitForSync) },
	}
	if file := s.Config.Shadow.ReportFile; file != "" {
		runnables = append(runnables, func(ctx context.Context) error {
			return shadow.WriteReportPeriodically(ctx, file, s.Config.ClusterName, lines)
		})
	}
	for _, r := range runnables {
		if err := mgr.Add(allReplicasRunnable{r}); err != nil {
			return err
		}
	}
	lines.Info("started in shadow mode", "report", s.Config.Shadow.ReportFile)
	return mgr.Start(ctx)
}

// PlanRulesPeriodically waits for synced. After that it plans the security group rules of nodes and pods every
// durations.LongInterval, until ctx ends.
func (s *Shadow) PlanRulesPeriodically(ctx context.Context, synced func(context.Context) error) error {
	if synced(ctx) != nil {
		return nil // the process is stopping
	}
	for {
		_ = s.PlanRules(ctx) // the report contains the failure
		if !pause(ctx, durations.LongInterval) {
			return nil
		}
	}
}
