package config

import (
	"slices"
	"time"
)

// Config is everything that an operator can set. Default returns the defaults of all fields.
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
	// ImportTLSSecrets are the kinds of objects whose TLS Secrets are imported into ACM: IngressSecrets,
	// GatewaySecrets.
	ImportTLSSecrets []string
	// Drift is how drift is handled: DriftRepair, DriftReport or DriftOff.
	Drift string
	// StrictIngressGroups reports whether an error of one member holds its whole IngressGroup.
	StrictIngressGroups bool
	// AllowMassRemoval disables the check that keeps load balancers when a class or flag selects another controller for 3 or
	// more Ingresses that were not edited, and accelerators when the definition of GlobalAccelerators is deleted.
	AllowMassRemoval bool
	Accelerators     Accelerators
	Gates            Gates
}

// The kinds of objects whose TLS Secrets can be imported.
const (
	IngressSecrets = "ingress"
	GatewaySecrets = "gateway"
)

// The values of Config.Drift.
const (
	DriftRepair = "repair" // restored and reported
	DriftReport = "report" // reported, and not restored
	DriftOff    = "off"    // not detected
)

// ImportsSecretsOf reports whether the TLS Secrets of a kind of objects are imported.
func (c Config) ImportsSecretsOf(kind string) bool { return slices.Contains(c.ImportTLSSecrets, kind) }

// Shadow has the settings of shadow mode, in which the controller makes plans but writes nothing.
type Shadow struct {
	Enabled    bool
	ReportFile string // path of the report file; empty: none
}

// Kubernetes selects the API server, and which of its objects are read.
type Kubernetes struct {
	Kubeconfig     string // empty: in-cluster
	WatchNamespace string // empty: all namespaces
	// SyncPeriod is the period in which unchanged load balancers and bindings are compared with AWS.
	SyncPeriod time.Duration
	// RequiredSecretsLabel is the label that Secrets must have, as key=value; empty: none.
	RequiredSecretsLabel string
	// ServiceAccount is the service account of this process as namespace:name; "" if it is not known. It is read from the
	// token and has no flag.
	ServiceAccount string
}

// AWS has the settings of calls to AWS. An empty region or VPC is discovered.
type AWS struct {
	Region     string
	VPC        string
	VPCTags    map[string]string
	VPCTagKey  string
	MaxRetries int // attempts per call
	Endpoints  map[string]string
	Throttle   string
	// Stabilization is the delay before a load balancer that is still provisioning is checked
	// again, if its capacity has to be set.
	Stabilization time.Duration
}

// Defaults are the values of settings that users do not set.
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

// Replacement has the settings for replacing a load balancer whose scheme or type has to change.
type Replacement struct {
	Order string // CreateFirst or DeleteFirst
	// DeletionDelay is how long the previous load balancer is kept after the status shows the new one.
	DeletionDelay time.Duration
}

// Ingress are settings of the Ingress frontend.
type Ingress struct {
	Class                  string
	TolerateMissingService bool
	TolerateMissingAction  bool
	CertificateAuthorities []string
	// DefaultPCA is the ARN of the private CA that issues requested certificates; empty: they are public.
	DefaultPCA string
	// Tenancy is cooperative or isolated: what members of an IngressGroup may do to each other.
	Tenancy string
	// MaxListeners is the maximum number of ports of one Ingress.
	MaxListeners int
	// MaxRules is the maximum number of rules of the Ingresses of a namespace in one IngressGroup.
	MaxRules int
	// ConditionValues and ConditionWildcards are the maximum numbers of condition values and wildcards in a rule: quotas of
	// the account.
	ConditionValues, ConditionWildcards int
	// ExactRegexHosts reports whether a rule whose hosts are all regular expressions is kept if it follows a redirect.
	ExactRegexHosts bool
	// WAFv2, WAFClassic and Shield enable the annotations of these services.
	WAFv2, WAFClassic, Shield bool
}

// Accelerators are the limits for GlobalAccelerators.
type Accelerators struct {
	// EndpointIDs are patterns of the ARNs and IDs that endpoints may name besides load balancers of the cluster. Empty: all
	// except nodes and Elastic IP addresses of the cluster.
	EndpointIDs []string
	// AddressNamespaces are the namespaces that may use addresses of the account's own ranges (BYOIP). Empty: all.
	AddressNamespaces []string
	// MaxPerNamespace is the maximum number of accelerators of a namespace. 0: any number.
	MaxPerNamespace int
}

// Service are settings of the frontend of Services with a load balancer.
type Service struct {
	// Class is the spec.loadBalancerClass of the Services that are served.
	Class string
	// CrossNamespaceGroups reports whether Services may share load balancers of other namespaces.
	CrossNamespaceGroups bool
}

// Security are the settings for security groups.
type Security struct {
	BackendSecurityGroup   bool
	BackendSecurityGroupID string
	ManageBackendRules     bool
	UnrestrictedRules      bool
	ENISecurityGroupTags   map[string]string
}

// Targets are the settings for the registration of targets.
type Targets struct {
	MaxPerTargetGroup int // 0 or less: no limit
	RequeueDuration   time.Duration
	MaxBackoff        time.Duration
	QUICVariable      string
	// EndpointSlices reports whether EndpointSlices are read; if false, Endpoints objects are read.
	EndpointSlices bool
	// ComparisonDeferral is the time from a start to the first comparison of unchanged bindings with AWS; above zero. Up to
	// half of it is added, so that the bindings are not all compared at the same time.
	ComparisonDeferral time.Duration
}

// Workers has the numbers of items that each controller reconciles concurrently. One controller reconciles the load balancers
// of Ingresses, Services and Gateways, and accelerators, with the sum of their workers.
type Workers struct {
	Ingress, Service       int
	ALBGateway, NLBGateway int
	GatewayClass           int // GatewayClasses and the kinds of gateway.k8s.aws
	Binding                int
	Accelerator            int
	// AcceleratorMaxBackoff is the longest back-off of an accelerator after failures.
	AcceleratorMaxBackoff time.Duration
}

// Election has the settings of leader election.
type Election struct {
	Enabled   bool
	ID        string // name of the Lease
	Namespace string // namespace of the Lease; empty: that of the pod
}

// Serving are the addresses that the process listens on.
type Serving struct {
	Metrics         string // "0": none
	Probes          string
	WebhookPort     int
	WebhookCertDir  string
	WebhookCertFile string
	WebhookKeyFile  string
	WebhookClientCA string
	// WebhookPrefix is the prefix of the names of the webhooks' Service, Secret and configurations.
	WebhookPrefix string
	// Webhooks is WebhooksOn or WebhooksOff.
	Webhooks string
	// Profiling is the address of the profiles of the Go runtime; empty: none.
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

// WebhookConfiguration returns the name of both webhook configurations.
func (s Serving) WebhookConfiguration() string { return s.WebhookPrefix + "-webhook" }

// Admission switches checks and changes of the admission webhooks on or off.
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
