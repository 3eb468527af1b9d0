package config

import (
	"slices"
	"time"
)

// Config has all settings that an operator can choose. Default returns the defaults of all fields.
type Config struct {
	// ClusterName is part of names and tags of AWS resources; required.
	ClusterName string
	LogLevel    string
	LogFormat   string // JSONFormat or TextFormat
	Kubernetes  Kubernetes
	AWS         AWS
	Defaults    Defaults
	Ingress     Ingress
	Service     Service
	Replacement Replacement
	Security    Security
	Targets     Targets
	Workers     Workers
	Election    Election
	Serving     Serving
	Shadow      Shadow
	Admission   Admission
	// ImportTLSSecrets are the kinds of objects whose TLS Secrets are imported into ACM: IngressSecrets, GatewaySecrets. If
	// the list is empty, no TLS Secrets are imported.
	ImportTLSSecrets []string
	// Drift is what the controller does about drift: DriftRepair, DriftReport or DriftOff.
	Drift string
	// StrictIngressGroups reports whether an error of one member holds its whole IngressGroup.
	StrictIngressGroups bool
	// AllowMassRemoval disables two safety checks. The first check retains load balancers when a class or flag selects
	// another controller for 3 or more Ingresses that were not edited. The second check retains accelerators when the
	// CustomResourceDefinition of GlobalAccelerators is deleted.
	AllowMassRemoval bool
	Accelerators     Accelerators
	Gates            Gates
}

// The values of Config.ImportTLSSecrets.
const (
	IngressSecrets = "ingress"
	GatewaySecrets = "gateway"
)

// The values of Config.Drift.
const (
	DriftRepair = "repair" // drift is corrected and reported
	DriftReport = "report" // drift is reported, and not corrected
	DriftOff    = "off"    // drift is not detected
)

// ImportsSecretsOf reports whether the TLS Secrets of a kind of objects are imported into ACM. kind is IngressSecrets or
// GatewaySecrets.
func (c Config) ImportsSecretsOf(kind string) bool { return slices.Contains(c.ImportTLSSecrets, kind) }

// Shadow has the settings of shadow mode, in which the controller makes plans but writes nothing.
type Shadow struct {
	Enabled    bool
	ReportFile string // path of the report file; empty: no report is written
}

// Kubernetes has the settings that select the API server, and the objects that are read from it.
type Kubernetes struct {
	Kubeconfig     string // empty: in-cluster
	WatchNamespace string // empty: all namespaces
	// SyncPeriod is the period in which unchanged load balancers and bindings are compared with AWS.
	SyncPeriod time.Duration
	// RequiredSecretsLabel is the label that Secrets must have, as key=value; empty: no label is required.
	RequiredSecretsLabel string
	// ServiceAccount is the service account of this process as namespace:name, or "" if it is not known. The value is read
	// from the token, and has no flag.
	ServiceAccount string
}

// AWS has the settings for calls to AWS. If the region or the VPC is empty, it is discovered.
type AWS struct {
	Region     string
	VPC        string
	VPCTags    map[string]string
	VPCTagKey  string
	MaxRetries int // maximum number of attempts for each call, including the first; 3 if 0 or less
	Endpoints  map[string]string
	Throttle   string
	// Stabilization is the delay before a load balancer that AWS is still provisioning is checked again, if its capacity has
	// to be set.
	Stabilization time.Duration
}

// Defaults has the values for settings that users do not set.
type Defaults struct {
	Tags                map[string]string
	ExternalManagedTags []string
	TargetType          string
	Scheme              string
	SSLPolicy           string
}

// The values of Replacement.Order.
const (
	CreateFirst = "create-first"
	DeleteFirst = "delete-first"
)

// Replacement has the settings for the replacement of a load balancer whose scheme or type has to change. The replacement of
// target groups has no settings.
type Replacement struct {
	Order string // CreateFirst or DeleteFirst
	// DeletionDelay is how long the previous load balancer is kept after the status shows the new load balancer.
	DeletionDelay time.Duration
}

// Ingress has the settings for Ingresses. Some of them also apply to Gateways.
type Ingress struct {
	Class                  string
	TolerateMissingService bool
	TolerateMissingAction  bool
	CertificateAuthorities []string
	// DefaultPCA is the ARN of the private CA that issues requested certificates. If it is empty, ACM issues public
	// certificates.
	DefaultPCA string
	// Tenancy is cooperative or isolated. It determines what members of an IngressGroup may do to each other.
	Tenancy string
	// MaxListeners is the maximum number of ports of one Ingress.
	MaxListeners int
	// MaxRules is the maximum number of rules of the Ingresses of a namespace in one IngressGroup, or of its routes on one
	// Gateway.
	MaxRules int
	// ConditionValues and ConditionWildcards are the maximum numbers of condition values and wildcards in a rule. They are
	// quotas of the AWS account.
	ConditionValues, ConditionWildcards int
	// ExactRegexHosts reports whether a redirect whose hosts are all regular expressions covers only later rules with the
	// same hosts. If false, such a redirect is treated as a redirect for all hosts, and all later rules that it covers are
	// left out.
	ExactRegexHosts bool
	// WAFv2, WAFClassic and Shield enable the annotations for these AWS services.
	WAFv2, WAFClassic, Shield bool
}

// Accelerators has the limits for GlobalAccelerators.
type Accelerators struct {
	// EndpointIDs are patterns of ARNs and IDs. Endpoints may refer to load balancers of the cluster, and to resources that
	// match one of the patterns. If the list is empty, endpoints may refer to all resources except nodes and Elastic IP
	// addresses of the cluster.
	EndpointIDs []string
	// AddressNamespaces are the namespaces whose GlobalAccelerators may use addresses of the account's own ranges (BYOIP).
	// If the list is empty, all namespaces may use these addresses.
	AddressNamespaces []string
	// MaxPerNamespace is the maximum number of accelerators of a namespace. 0 means no limit.
	MaxPerNamespace int
}

// Service has the settings for Services with a load balancer.
type Service struct {
	// Class is the spec.loadBalancerClass of the Services that are served.
	Class string
	// CrossNamespaceGroups reports whether Services may share a load balancer of another namespace.
	CrossNamespaceGroups bool
}

// Security has the settings for security groups.
type Security struct {
	BackendSecurityGroup   bool
	BackendSecurityGroupID string
	ManageBackendRules     bool
	UnrestrictedRules      bool
	ENISecurityGroupTags   map[string]string
}

// Targets has the settings for the registration of targets.
type Targets struct {
	MaxPerTargetGroup int // 0 or less: no limit
	RequeueDuration   time.Duration
	MaxBackoff        time.Duration
	QUICVariable      string
	// EndpointSlices reports whether EndpointSlices are read; if false, Endpoints objects are read.
	EndpointSlices bool
	// ComparisonDeferral is the time from a start to the first comparison of unchanged bindings with AWS. It must be above
	// zero. A random time of up to half of this duration is added, so that the bindings are not all compared at the same
	// time.
	ComparisonDeferral time.Duration
}

// Workers has the number of items that each controller reconciles concurrently. Accelerators and the load balancers of
// Ingresses, Services and Gateways are reconciled by one controller, which has the sum of their workers.
type Workers struct {
	Ingress, Service       int
	ALBGateway, NLBGateway int
	GatewayClass           int // GatewayClasses and the kinds of gateway.k8s.aws
	Binding                int
	Accelerator            int
	// AcceleratorMaxBackoff is the maximum back-off of an accelerator after failures.
	AcceleratorMaxBackoff time.Duration
}

// Election has the settings of leader election.
type Election struct {
	Enabled   bool
	ID        string // name of the Lease
	Namespace string // namespace of the Lease; empty: the namespace of the pod
}

// Serving has the addresses on which the process listens, and the settings of the webhooks.
type Serving struct {
	Metrics         string // "0": no metrics are served
	Probes          string
	WebhookPort     int
	WebhookCertDir  string
	WebhookCertFile string
	WebhookKeyFile  string
	WebhookClientCA string
	// WebhookPrefix is the prefix of the names of the Service, the Secret and the configurations of the webhooks.
	WebhookPrefix string
	// Webhooks is WebhooksOn or WebhooksOff.
	Webhooks string
	// Profiling is the address that serves the profiles of the Go runtime. If it is empty, no profiles are served.
	Profiling string
}

// The values of Serving.Webhooks.
const (
	WebhooksOn  = "on"
	WebhooksOff = "off"
)

// The levels and formats of the log.
const (
	InfoLevel  = "info"
	DebugLevel = "debug"
	JSONFormat = "json"
	TextFormat = "text"
)

// WebhookService returns the name of the Service through which the API server reaches the webhooks.
func (s Serving) WebhookService() string { return s.WebhookPrefix + "-webhook-service" }

// WebhookSecret returns the name of the Secret with the certificate of the webhooks.
func (s Serving) WebhookSecret() string { return s.WebhookPrefix + "-tls" }

// WebhookConfiguration returns the name of the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration.
func (s Serving) WebhookConfiguration() string { return s.WebhookPrefix + "-webhook" }

// Admission enables or disables single functions of the admission webhooks.
type Admission struct {
	DisableClassAnnotation, DisableGroupAnnotation bool
	ReadinessGates                                 bool
}

// Default returns the configuration of a process that is started without flags.
func Default() Config {
	return Config{
		LogLevel:   InfoLevel,
		LogFormat:  JSONFormat,
		Drift:      DriftRepair,
		Kubernetes: Kubernetes{SyncPeriod: 10 * time.Hour},
		AWS:        AWS{VPCTagKey: "Name", MaxRetries: 10, Stabilization: 2 * time.Minute},
		Defaults:   Defaults{TargetType: "instance", Scheme: "internal", SSLPolicy: "ELBSecurityPolicy-2016-08"},
		Ingress: Ingress{
			Class: "alb", TolerateMissingService: true, TolerateMissingAction: true, WAFv2: true, WAFClassic: true, Shield: true,
			ConditionValues: 5, ConditionWildcards: 5, Tenancy: "cooperative", MaxListeners: 100, MaxRules: 4000,
		},
		Service:     Service{Class: "service.k8s.aws/nlb"},
		Replacement: Replacement{Order: CreateFirst, DeletionDelay: 15 * time.Minute},
		Security:    Security{BackendSecurityGroup: true},
		Targets: Targets{
			RequeueDuration: 15 * time.Second, MaxBackoff: 1000 * time.Second, QUICVariable: "AWS_LBC_QUIC_SERVER_ID",
			EndpointSlices: true, ComparisonDeferral: 30 * time.Minute,
		},
		Workers:   Workers{Ingress: 3, Service: 3, ALBGateway: 3, NLBGateway: 3, GatewayClass: 3, Binding: 3, Accelerator: 1, AcceleratorMaxBackoff: 1000 * time.Second},
		Election:  Election{Enabled: true, ID: "aws-load-balancer-controller-leader"},
		Serving:   Serving{Metrics: ":8080", Probes: ":61779", WebhookPort: 9443, Webhooks: WebhooksOn, WebhookPrefix: "aws-load-balancer"},
		Admission: Admission{ReadinessGates: true},
	}
}
