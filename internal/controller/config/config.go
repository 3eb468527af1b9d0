package config

import (
	"slices"
	"time"
)

// Config is everything that an operator can set. Default has the defaults of all fields.
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
	// Drift is what happens to what others change in AWS: DriftRepair, DriftReport or DriftOff.
	Drift string
	// StrictGroups lets one fault of a member stop its whole IngressGroup.
	StrictGroups bool
	// AllowMassRemoval disables the check that keeps load balancers when most Ingresses change
	// controller at once.
	AllowMassRemoval bool
	Accelerators     Accelerators
	Gates            Gates
}

// The kinds of objects whose TLS Secrets can be imported.
const (
	IngressSecrets = "ingress"
	GatewaySecrets = "gateway"
)

// What happens to what others change in AWS.
const (
	DriftRepair = "repair"
	DriftReport = "report"
	DriftOff    = "off"
)

// Imports reports whether the TLS Secrets of a kind of objects are imported.
func (c Config) Imports(kind string) bool { return slices.Contains(c.ImportTLSSecrets, kind) }

// Shadow lets the controller plan and write nothing.
type Shadow struct {
	Enabled bool
	Report  string // file; empty: none
}

// Kubernetes is how to reach the API server and which of its objects to read.
type Kubernetes struct {
	Kubeconfig     string // empty: in-cluster
	WatchNamespace string // empty: all
	SyncPeriod     time.Duration
	// RequiredSecretsLabel is key=value, which Secrets must carry.
	RequiredSecretsLabel string
	// ServiceAccount is the service account of this process as namespace:name, "" if it is not known. It is found and
	// no flag.
	ServiceAccount string
}

// AWS is how to reach AWS. Empty region and VPC are discovered.
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

// Defaults are used where users set nothing.
type Defaults struct {
	Tags                map[string]string
	ExternalManagedTags []string
	TargetType          string
	Scheme              string
	SSLPolicy           string
}

// The ways to replace a load balancer.
const (
	CreateFirst = "create-first"
	DeleteFirst = "delete-first"
)

// Replacement determines how a load balancer takes the place of one that AWS cannot change.
type Replacement struct {
	Order string // CreateFirst or DeleteFirst
	// DeletionDelay is how long the old one is kept after the status shows the new one.
	DeletionDelay time.Duration
}

// Ingress are settings of the Ingress frontend.
type Ingress struct {
	Class                  string
	TolerateMissingService bool
	TolerateMissingAction  bool
	CertificateAuthorities []string
	// DefaultPCA is the private CA of requested certificates.
	DefaultPCA string
	// Tenancy is cooperative or isolated: what members of an IngressGroup may do to each other.
	Tenancy string
	// MaxListeners is on how many ports one Ingress may listen, MaxRules how many rules the Ingresses of
	// a namespace may have in one IngressGroup.
	MaxListeners, MaxRules int
	// ConditionValues and ConditionWildcards are how many AWS accepts in a rule: quotas of the
	// account.
	ConditionValues, ConditionWildcards int
	// ExactRegexHosts keeps rules behind a redirect whose only hosts are regular expressions.
	ExactRegexHosts bool
	// WAFv2, WAFClassic and Shield enable the annotations of these services.
	WAFv2, WAFClassic, Shield bool
}

// Accelerators are bounds of GlobalAccelerators.
type Accelerators struct {
	// EndpointIDs are patterns of what endpoints may name by ARN or id besides load balancers of the cluster. Empty: anything
	// but nodes and Elastic IP addresses of the cluster.
	EndpointIDs []string
	// AddressNamespaces may use addresses of the account's own ranges. Empty: all.
	AddressNamespaces []string
	// MaxPerNamespace is how many accelerators a namespace may have made. 0: any number.
	MaxPerNamespace int
}

// Service are settings of the frontend of Services with a load balancer.
type Service struct {
	// Class is the spec.loadBalancerClass that is served.
	Class string
	// CrossNamespaceGroups lets Services share load balancers of other namespaces.
	CrossNamespaceGroups bool
}

// Security are settings about security groups.
type Security struct {
	BackendGroup       bool
	BackendGroupID     string
	ManageBackendRules bool
	Unrestricted       bool
	ENIGroupTags       map[string]string
}

// Targets are settings of target registration.
type Targets struct {
	MaxPerGroup     int // 0 or less: no limit
	RequeueDuration time.Duration
	MaxBackoff      time.Duration
	QUICVariable    string
	// EndpointSlices are read; otherwise Endpoints objects.
	EndpointSlices bool
	// Deferral is how long after a start bindings that have not changed are not compared with AWS;
	// above zero. Up to a half is added, so that they are not all compared at once.
	Deferral time.Duration
}

// Workers are how many items each controller reconciles concurrently. Load balancers of Ingresses, Services and
// Gateways and accelerators are worked on together, by the sum of these.
type Workers struct {
	Ingress, Service       int
	ALBGateway, NLBGateway int
	GatewayClass           int // and the kinds of gateway.k8s.aws
	Binding                int
	Accelerator            int
	// AcceleratorMaxBackoff is the longest wait of an accelerator after failures.
	AcceleratorMaxBackoff time.Duration
}

// Election is about the Lease.
type Election struct {
	Enabled   bool
	ID        string
	Namespace string // empty: that of the pod
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
	// WebhookPrefix begins the names of the objects that webhooks hang on.
	WebhookPrefix string
	// Webhooks is WebhooksOn or WebhooksOff.
	Webhooks string
	// Profiling is the address of the profiles; empty: none.
	Profiling string
}

// Whether admission webhooks are served.
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

// Admission is what webhooks do besides their fixed checks.
type Admission struct {
	DisableClassAnnotation, DisableGroupAnnotation bool
	ReadinessGates                                 bool
}

// Default returns the defaults.
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
		Security:    Security{BackendGroup: true},
		Targets: Targets{
			RequeueDuration: 15 * time.Second, MaxBackoff: 1000 * time.Second, QUICVariable: "AWS_LBC_QUIC_SERVER_ID",
			EndpointSlices: true, Deferral: 30 * time.Minute,
		},
		Workers:   Workers{Ingress: 3, Service: 3, ALBGateway: 3, NLBGateway: 3, GatewayClass: 3, Binding: 3, Accelerator: 1, AcceleratorMaxBackoff: 1000 * time.Second},
		Election:  Election{Enabled: true, ID: "aws-load-balancer-controller-leader"},
		Serving:   Serving{Metrics: ":8080", Probes: ":61779", WebhookPort: 9443, Webhooks: WebhooksOn, WebhookPrefix: "aws-load-balancer"},
		Admission: Admission{ReadinessGates: true},
	}
}
