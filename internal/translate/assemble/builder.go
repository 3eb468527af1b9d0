package assemble

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/model/certificate"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Options are the operator's settings for what members of a stack share.
type Options struct {
	// Cluster is the name that AWS resources are tagged with.
	Cluster string

	DefaultScheme     model.Scheme     // internal if empty
	DefaultTargetType model.TargetType // instance if empty
	DefaultSSLPolicy  string           // ELBSecurityPolicy-2016-08 if empty

	// DefaultTags for all resources; DefaultTagsLow lets users' tags win over them.
	DefaultTags    map[string]string
	DefaultTagsLow bool
	// ExternalTags are keys that users may not set.
	ExternalTags []string

	// BackendGroup is the id of a shared backend security group that the operator provides.
	BackendGroup string
	// NoBackendGroup switches the shared backend security group off.
	NoBackendGroup bool
	// ManageBackendRules is the default of the setting of that name.
	ManageBackendRules bool
	// UnrestrictedRules opens all ports of targets to the load balancer, not single ones.
	UnrestrictedRules bool
	// NoSecurityGroups makes network load balancers without security groups.
	NoSecurityGroups bool

	// NoIPTargets, NoCapacity and NoWeights switch features off.
	NoIPTargets bool
	NoCapacity  bool
	NoWeights   bool
	// NoWAFv2, NoWAFClassic and NoShield leave web ACLs and protections alone.
	NoWAFv2      bool
	NoWAFClassic bool
	NoShield     bool
	// ManageCertificates requests certificates where members ask for them, from DefaultCA, the ARN of
	// a private authority, where neither names one.
	ManageCertificates bool
	DefaultCA          string
	// ImportCertificates imports the certificates of TLS Secrets that members name.
	ImportCertificates bool
	// SecretLabel, if its key is set, must be on every Secret that is read.
	SecretLabel Label
	// ServiceAccount is the service account of the controller as namespace:name, for messages; "" if it is not known.
	ServiceAccount string

	// StrictGroups lets one fault stop the whole load balancer.
	StrictGroups bool
	// AllowMassRemoval lets load balancers go of objects that the controller's own flags or many classes at
	// once exclude.
	AllowMassRemoval bool

	// certificates parses the TLS Secrets of all stacks of a frontend.
	certificates *certificate.Reader
}

// Filled returns the options with their defaults.
func (o Options) Filled() Options {
	o.DefaultScheme = cmp.Or(o.DefaultScheme, model.Internal)
	o.DefaultTargetType = cmp.Or(o.DefaultTargetType, model.InstanceTargets)
	o.DefaultSSLPolicy = cmp.Or(o.DefaultSSLPolicy, "ELBSecurityPolicy-2016-08")
	o.certificates = cmp.Or(o.certificates, &certificate.Reader{})
	return o
}

// Builder builds what the members of a stack share.
type Builder struct {
	members.Translation
	Options
	// OwnerUID is the UID of the one object that makes up the stack, where names are made of it: of a Service or a
	// Gateway.
	OwnerUID string
	// Type of the load balancer.
	Type model.LoadBalancerType
	// Peer is where traffic to the targets comes from; nil: their rules are not managed.
	Peer *model.Peer
	// ByAddress reports that the load balancer has no security groups, so that rules of targets, which are to be
	// managed, can only name addresses.
	ByAddress bool
	// NoClients reports that the managed security group admits no client.
	NoClients bool
	// Redirect is the HTTPS port that HTTP listeners redirect to.
	Redirect settings.Opt[int32]
}

// name returns how the members spell a setting.
func (b *Builder) name(setting string) string { return naming.SettingName(b.ID.Kind, setting) }

// defaultName returns the name of the load balancer where none is asked for.
func (b *Builder) defaultName(scheme model.Scheme) string {
	if b.OwnerUID != "" {
		return naming.OwnedLoadBalancer(b.Cluster, b.ID, b.OwnerUID, scheme)
	}
	return naming.LoadBalancer(b.Cluster, b.ID, scheme)
}

// managedGroupName returns the name of the security group that the controller manages for the load balancer.
func (b *Builder) managedGroupName() string {
	if b.OwnerUID != "" {
		return naming.OwnedManagedGroup(b.Cluster, b.ID, b.OwnerUID)
	}
	return naming.ManagedGroup(b.Cluster, b.ID)
}

// fieldOf returns the field of members in which a setting stands.
func (b *Builder) fieldOf(setting string) string { return naming.SettingField(b.ID.Kind, setting) }
