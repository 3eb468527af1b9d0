package assemble

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/model/certificate"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Options are the operator's settings for the resources of a stack.
type Options struct {
	// Cluster is the name of the cluster in tags of AWS resources.
	Cluster string

	DefaultScheme     model.Scheme     // internal if empty
	DefaultTargetType model.TargetType // instance if empty
	DefaultSSLPolicy  string           // ELBSecurityPolicy-2016-08 if empty

	// DefaultTags are set on all resources. They have precedence over tags of users unless DefaultTagsLowPriority is set.
	DefaultTags            map[string]string
	DefaultTagsLowPriority bool
	// ExternalTags are keys of tags that are managed outside of the cluster. Users may not set them.
	ExternalTags []string

	// BackendSecurityGroup is the ID of a shared backend security group that the operator provides. If it is empty, the
	// controller creates a backend security group.
	BackendSecurityGroup string
	// NoBackendSecurityGroup disables the shared backend security group.
	NoBackendSecurityGroup bool
	// ManageBackendRules is the default of the setting manage-backend-security-group-rules of members.
	ManageBackendRules bool
	// UnrestrictedRules opens all ports of targets to the load balancer, instead of only the ports that it uses.
	UnrestrictedRules bool
	// NoSecurityGroups creates network load balancers without security groups.
	NoSecurityGroups bool

	// NoIPTargets disables target type "ip", and NoCapacityReservations disables capacity reservations.
	// NoWeightedTargetGroups disables actions with several weighted target groups.
	NoIPTargets            bool
	NoCapacityReservations bool
	NoWeightedTargetGroups bool
	// NoWAFv2, NoWAFClassic and NoShield disable AWS WAF, AWS WAF Classic and AWS Shield. Existing web ACLs and protections
	// are not changed.
	NoWAFv2      bool
	NoWAFClassic bool
	NoShield     bool
	// ManageCertificates makes the controller request a certificate for each member with create-acm-cert. DefaultCA is
	// the ARN of the private certificate authority for members that name none, or "" for public certificates.
	ManageCertificates bool
	DefaultCA          string
	// ImportCertificates makes the controller import the certificates of TLS Secrets that members name.
	ImportCertificates bool
	// SecretLabel is the label that a Secret must have to be read. If its key is empty, no label is required.
	SecretLabel Label
	// ServiceAccount is the service account of the controller as "NAMESPACE:NAME", for messages. It is "" if not known.
	ServiceAccount string

	// Conditions are the limits for the conditions of a rule. MaxRules is the maximum number of rules that the members of a
	// namespace, or their routes, can have on one load balancer; 0 means 4000.
	Conditions ConditionLimits
	MaxRules   int

	// StrictGroups holds the whole stack while there is a finding of severity Error about one of its members.
	StrictGroups bool
	// AllowMassRemoval permits the deletion of load balancers whose objects are no longer served only because a flag of
	// the controller changed, or because many classes changed at once.
	AllowMassRemoval bool

	// certificates parses TLS Secrets and caches the results. All stacks that are translated with the Options share it.
	certificates *certificate.Reader
}

// WithDefaults returns the options, with defaults for those that are not set.
func (o Options) WithDefaults() Options {
	o.DefaultScheme = cmp.Or(o.DefaultScheme, model.Internal)
	o.DefaultTargetType = cmp.Or(o.DefaultTargetType, model.InstanceTargets)
	o.DefaultSSLPolicy = cmp.Or(o.DefaultSSLPolicy, "ELBSecurityPolicy-2016-08")
	o.Conditions, o.MaxRules = o.Conditions.withDefaults(), cmp.Or(o.MaxRules, defaultMaxRules)
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
	// Peer is the source of traffic that the security group rules of targets admit, or nil if these rules are not
	// managed.
	Peer *model.Peer
	// RulesByAddress reports whether the controller manages security group rules of targets for a load balancer without
	// security groups. These rules must name CIDRs.
	RulesByAddress bool
	// AdmitsNoClients reports whether the managed security group has no rules that admit clients.
	AdmitsNoClients bool
	// Redirect is the HTTPS port to which HTTP listeners redirect. It is not set if they do not redirect.
	Redirect settings.Opt[int32]
}

// settingName returns the name that a setting has in members of this kind of stack, without the annotation prefix.
func (b *Builder) settingName(setting string) string { return naming.SettingName(b.ID.Kind, setting) }

// defaultName returns the generated name of the load balancer.
func (b *Builder) defaultName(scheme model.Scheme) string {
	if b.OwnerUID != "" {
		return naming.LoadBalancerNameWithUID(b.Cluster, b.ID, b.OwnerUID, scheme)
	}
	return naming.IngressLoadBalancerName(b.Cluster, b.ID, scheme)
}

// managedSecurityGroupName returns the name of the security group that the controller manages for the load balancer.
func (b *Builder) managedSecurityGroupName() string {
	if b.OwnerUID != "" {
		return naming.SecurityGroupNameWithUID(b.Cluster, b.ID, b.OwnerUID)
	}
	return naming.IngressSecurityGroupName(b.Cluster, b.ID)
}

// settingField returns the field or annotation that sets a setting in members of this kind of stack.
func (b *Builder) settingField(setting string) string { return naming.SettingField(b.ID.Kind, setting) }
