package members

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Member is an object that contributes to a stack.
type Member struct {
	Ref finding.Ref
	// Created is the creation time of the object.
	Created time.Time
	// ClaimedAt is the time since when the member claims its stack: the creation time of the object, or that of its class
	// parameters if these name the stack and are older. Class parameters that were deleted and created again are younger
	// than their objects.
	ClaimedAt time.Time
	// StackNamedByClass reports whether the class parameters name the stack.
	StackNamedByClass bool

	Set settings.Shared
	// OwnTags are the tags that the object itself sets.
	OwnTags settings.Opt[map[string]string]
	// Faults are the faults of settings that hold all resources of the member.
	Faults []settings.Fault
	// ClassTags are the tags of the class. Tags are the tags of the object and the class; those of the class have
	// precedence.
	ClassTags, Tags map[string]string

	// Blocked reports whether all resources of the member are held. Undetermined reports whether, in addition, its ports or
	// its position in the order of the members are not known.
	Blocked, Undetermined bool
	// Oversized reports whether the member has more listeners or rules than the operator allows.
	Oversized bool
	// RetainsRights reports whether the member is not accepted, for a reason that withdraws no right: its class cannot be
	// read or belongs to another controller, or its group name is not valid. It is false if its namespace is refused.
	RetainsRights bool
	// DeletionProtected reports whether the member is being deleted and sets deletion protection.
	DeletionProtected bool
	Ports             []settings.ListenPort
	// Hosts are the hosts of the member that need certificates, sorted. HostFields has, for each of them, the first field in
	// which it occurs.
	Hosts, HostFields []string
	// Certificate is the certificate that is requested from ACM for the member; nil if there is none. RequestsCertificate
	// reports whether the member requests a certificate.
	Certificate         *model.ManagedCertificate
	RequestsCertificate bool
	// Imports are the certificates to import from the TLS Secrets that the member names. ImportedNames are the DNS names in
	// them, and the hosts for which the member names the Secrets.
	Imports       []model.ManagedCertificate
	ImportedNames []string
	// HeldCertificates has, by listener port, the ARNs of existing certificates that were imported or requested for the
	// member. They are held because the flag that enables imports or requests is no longer set. HeldField is the field of
	// the member that names or requests them.
	HeldCertificates map[int32][]string
	HeldField        string
}

// IsFromClass reports whether an origin is in the class parameters of the member.
func (m *Member) IsFromClass(o finding.Origin) bool {
	return !o.Object.IsZero() && o.Object == m.Set.Class.Origin.Object
}

// HoldCertificates adds the ARNs of existing certificates on a port to HeldCertificates. field becomes HeldField.
func (m *Member) HoldCertificates(port int32, arns []string, field string) {
	if m.HeldCertificates == nil {
		m.HeldCertificates = map[int32][]string{}
	}
	m.HeldField = field
	for _, arn := range arns {
		if !slices.Contains(m.HeldCertificates[port], arn) {
			m.HeldCertificates[port] = append(m.HeldCertificates[port], arn)
		}
	}
}

// Translation is the state of the translation of a stack, as far as it is common to all kinds of objects.
type Translation struct {
	ID model.StackID
	// Live is the observed state of the stack; nil if it is not known yet.
	Live *observed.Stack
	// Members are in order of precedence. Previous are objects that have the finalizer of the stack but are no longer
	// accepted.
	Members, Previous []*Member
	// ClassField is the field of a member that names its class. ClassKind is the kind of class parameters.
	ClassField, ClassKind string
	// Isolated reports whether tenancy is isolated: only one class decides the load-balancer-wide settings.
	Isolated bool
	// Owner is the namespace that owns the load balancer: only members of this namespace decide the load-balancer-wide
	// settings. It is "" if no member may decide them, and nil if all members may decide them.
	Owner *string
	// BackendSecurityGroup is the id of a shared backend security group that the operator provides; "" if there is none.
	BackendSecurityGroup string

	// Stack and Found are the results of the translation.
	Stack model.Stack
	Found finding.List
	// Ports are the ports on which members listen, ascending.
	Ports []*Port

	// unknownLiveValues is the number of values that could not be compared with the values in AWS, because AWS gave no
	// answer.
	unknownLiveValues int
	// retainedMember is a previous member that is still served and that retains its rights; nil if there is none.
	// Each value in AWS may have been set by this member or its class.
	retainedMember *Member
	// decidingClass names the class parameters that alone set the settings of the load balancer in isolated tenancy; nil
	// until hasDecidingClass is called.
	decidingClass *finding.Ref
}
