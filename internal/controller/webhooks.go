package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	admissionmetrics "sigs.k8s.io/controller-runtime/pkg/webhook/admission/metrics"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/webhook"
	"github.com/fulcrum-lb/fulcrum/internal/webhook/serving"
)

// addWebhooks adds the server of admission webhooks, which runs on every replica, and its readiness check.
func addWebhooks(s Setup, aws AWS, mgr manager.Manager, probes *Probes, source cluster.Source, live client.Reader, frontends engine.Frontends) error {
	log := s.Log.WithName("webhooks")
	core, err := corev1client.NewForConfigAndClient(s.REST, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create the client of webhooks: %w", err)
	}
	hooks, err := admissionclient.NewForConfigAndClient(s.REST, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create the client of webhooks: %w", err)
	}
	v := s.Config.Serving
	keeper := &serving.CertificateKeeper{
		Hooks: hooks, Clock: clock.RealClock{}, Log: log,
		Secret: v.WebhookSecret(), Service: v.WebhookService(), Configuration: v.WebhookConfiguration(),
	}
	who, err := authenticationclient.NewForConfigAndClient(s.REST, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create the client of webhooks: %w", err)
	}
	keeper.SelfSubjectReviews = who.SelfSubjectReviews()
	if keeper.Namespace, err = kube.PodNamespace(); err != nil {
		return err
	}
	if keeper.Namespace != "" {
		keeper.Secrets = core.Secrets(keeper.Namespace)
	}
	server, err := serving.NewServer(serving.Options{
		Port: v.WebhookPort, CertDir: v.WebhookCertDir, CertFile: v.WebhookCertFile, KeyFile: v.WebhookKeyFile,
		ClientCA: v.WebhookClientCA, Keeper: keeper, Log: log,
	})
	if err != nil {
		return err
	}
	rules, err := webhookConfig(withDiscoveredSettings(s.Config, aws), frontends)
	if err != nil {
		return err
	}
	rules.Source, rules.Log, rules.Metrics = source, log, webhook.NewMetrics()
	rules.ControllerNamespace = keeper.Namespace
	rules.Panics = admissionmetrics.WebhookPanics.WithLabelValues()
	if err := rules.Metrics.Register(ctrlmetrics.Registry); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) // used only under the lock of ServerIDGenerator
	rules.ServerIDs = &webhook.ServerIDGenerator{
		WorkerNumbers: serving.WorkerNumbers{ConfigMaps: core.ConfigMaps(serving.WorkerNamespace), Random: random},
		Clock:         clock.RealClock{}, Random: random,
	}
	if s.Config.Gates.IsEnabled(config.ALBTargetControlAgent) {
		rules.AgentConfigs = agentConfigs{live}
	}
	for _, e := range webhook.Endpoints(rules) {
		server.Register(e.Path, e.Handler)
	}
	probes.AddReadinessCheck("ready-webhook", server.StartedChecker())
	return mgr.Add(server)
}

// webhookConfig returns the settings of the admission webhooks. It returns an error if no frontend translates Ingresses.
func webhookConfig(c config.Config, frontends engine.Frontends) (webhook.Config, error) {
	ingresses, ok := frontends[model.Ingress].(webhook.IngressTranslator)
	if !ok {
		return webhook.Config{}, errors.New("no frontend translates Ingresses")
	}
	out := webhook.Config{
		Namespace: c.Kubernetes.WatchNamespace, Ingress: ingresses,
		DenyClassAnnotation: c.Admission.DisableClassAnnotation, DenyGroupName: c.Admission.DisableGroupAnnotation,
		ReadinessGates: c.Admission.ReadinessGates, ServerIDVariable: c.Targets.QUICVariable,
		Accelerator: webhook.AcceleratorOptions{Served: servesAccelerators(c), Region: c.AWS.Region},
	}
	// With LoadBalancerClass, the webhook sets this class on Services at admission. LoadBalancerClass is set only if this
	// controller serves Services, because no other controller serves Services with this class.
	if frontends[model.Service] != nil {
		out.LoadBalancerClass = c.Service.Class
	}
	return out, nil
}

// agentConfigs reads the configuration of the target control agent from the API server.
type agentConfigs struct{ live client.Reader }

// AgentConfig implements webhook.AgentConfigs. If the CRD is not installed, it returns no configuration.
func (c agentConfigs) AgentConfig(ctx context.Context, namespace string) (*v1beta1.ALBTargetControlConfig, error) {
	out := &v1beta1.ALBTargetControlConfig{}
	err := c.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: webhook.AgentConfigName}, out)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	return out, err
}
