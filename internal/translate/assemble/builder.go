package assemble

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/model/certificate"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Options are the operator's settings for resources that members of a stack share.
type Options struct {
	// Cluster is the name of the cluster in tags of AWS resources.
	Cluster string

	DefaultScheme     model.Scheme     // internal if empty
	DefaultTargetType model.TargetType // instance if empty
	DefaultSSLPolicy  string           // ELBSecurityPolicy-2016-08 if empty

	// DefaultTags are set on all resources. They have precedence over tags of users unless DefaultTagsLowPriority is set.
	DefaultTags            map[string]string
	DefaultTagsLowPriority bool
	// ExternalTags are keys of tags that are managed outside of the cluster, so that users may not set them.
	ExternalTags []string

	// BackendSecurityGroup is the id of a shared backend security group that the operator provides; "" if the controller
	// creates it.
	BackendSecurityGroup string
	// NoBackendSecurityGroup disables the shared backend security group.
	NoBackendSecurityGroup bool
	// ManageBackendRules is the default of the setting manage-backend-security-group-rules.
	ManageBackendRules bool
	// UnrestrictedRules opens all ports of targets to the load balancer, instead of only the ports that it uses.
	UnrestrictedRules bool
	// NoSecurityGroups creates network load balancers without security groups.
	NoSecurityGroups bool

	// NoIPTargets, NoCapacity and NoWeights disable features.
	NoIPTargets bool
	NoCapacity  bool
	NoWeights   bool
	// NoWAFv2, NoWAFClassic and NoShield leave live web ACLs and protections unchanged.
	NoWAFv2      bool
	NoWAFClassic bool
	NoShield     bool
	// ManageCertificates requests a certificate for each member with create-acm-cert. DefaultCA is the ARN of the private
	// certificate authority for members that name none; "" means public certificates.
	ManageCertificates bool
	DefaultCA          string
	// ImportCertificates imports the certificates of TLS Secrets that members name.
	ImportCertificates bool
	// SecretLabel is the label that a Secret must have to be read. If its key is empty, no label is required.
	SecretLabel Label
	// ServiceAccount is the service account of the controller as namespace:name, for messages; "" if it is not known.
	ServiceAccount string

	// StrictGroups holds the whole stack while there is a finding of severity Error about one of its members.
	StrictGroups bool
	// AllowMassRemoval permits that load balancers are deleted although a flag of the controller, or a change of many
	// classes at once, is the only reason why their objects are no longer served.
	AllowMassRemoval bool

	// certificates parses and caches TLS Secrets, for all stacks of a frontend.
	certificates *certificate.Reader
}

// WithDefaults returns the options with defaults for those that are not set.
func (o Options) WithDefaults() Options {
	o.DefaultScheme = cmp.Or(o.DefaultScheme, model.Internal)
	o.DefaultTargetType = cmp.Or(o.DefaultTargetType, model.InstanceTargets)
	o.DefaultSSLPolicy = cmp.Or(o.DefaultSSLPolicy, "ELBSecurityPolicy-2016-08")
	o.certificates = cmp.Or(o.certificates, &certificate.Reader{})
	return o
}

// Builder builds the resources of a stack to which all its members contribute.
type Builder struct {
	members.Translation
	Options
	// OwnerUID is the UID of the Service or Gateway that owns the stack. Names in AWS are generated from it. It is "" for
	// stacks of Ingresses, and of Services that share a load balancer.
	OwnerUID string
	// Type is the type of the load balancer.
	Type model.LoadBalancerType
	// Peer is the source of traffic that the security group rules of targets admit; nil if these rules are not managed.
	Peer *model.Peer
	// RulesByAddress reports whether these rules are managed although the load balancer has no security groups, so that they
	// must name address ranges.
	RulesByAddress bool
	// AdmitsNoClients reports whether the managed security group admits no client.
	AdmitsNoClients bool
	// Redirect is the HTTPS port to which HTTP listeners redirect.
	Redirect settings.Opt[int32]
}

// name returns the name of a setting in members of this kind of stack, without the prefix of annotations.
func (b *Builder) name(setting string) string { return naming.SettingName(b.ID.Kind, setting) }

// defaultName returns the generated name of the load balancer.
func (b *Builder) defaultName(scheme model.Scheme) string {
	if b.OwnerUID != "" {
		return naming.OwnedLoadBalancerName(b.Cluster, b.ID, b.OwnerUID, scheme)
	}
	return naming.LoadBalancerName(b.Cluster, b.ID, scheme)
}

// managedSecurityGroupName returns the name of the security group that the controller manages for the load balancer.
func (b *Builder) managedSecurityGroupName() string {
	if b.OwnerUID != "" {
		return naming.OwnedManagedSecurityGroupName(b.Cluster, b.ID, b.OwnerUID)
	}
	return naming.ManagedSecurityGroupName(b.Cluster, b.ID)
}

// fieldOf returns the field or annotation of a setting in members of this kind of stack.
func (b *Builder) fieldOf(setting string) string { return naming.SettingField(b.ID.Kind, setting) }
