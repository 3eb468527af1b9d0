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
	// ClaimedAt is the time since when the member can claim its stack: the creation time of the object, or of its class
	// parameters if they name the stack and are older. The creation time of the object is not sufficient: the object can
	// be older than its membership, and parameters that are recreated are younger than the objects that they serve.
	ClaimedAt time.Time
	// StackNamedByClass reports whether the class names the stack.
	StackNamedByClass bool

	Set settings.Shared
	// OwnTags are the tags that the object itself sets.
	OwnTags settings.Opt[map[string]string]
	// Faults are the faults that hold all resources of the member.
	Faults []settings.Fault
	// ClassTags are the tags of the class; Tags are the tags of the object and the class, which has precedence.
	ClassTags, Tags map[string]string

	// Blocked reports whether all resources of the member are held. Undetermined reports whether its ports, or its
	// position in the order of the members, are unknown as well.
	Blocked, Undetermined bool
	// Oversized reports whether the member has more listeners or rules than the operator allows.
	Oversized bool
	// ClassMissing reports whether the member is not accepted because its class cannot be read. It is false if the class
	// does not admit the member.
	ClassMissing bool
	// DeletionGuarded reports whether the member sets deletion protection and is being deleted.
	DeletionGuarded bool
	Ports           []settings.ListenPort
	// Hosts are the hosts of the member that need certificates, in order, and HostFields the first field that names each
	// host.
	Hosts, HostFields []string
	// Certificate is the certificate to request from ACM, if any; RequestsCertificate reports whether the member
	// requests a certificate.
	Certificate         *model.ManagedCertificate
	RequestsCertificate bool
	// Imports are the certificates of the TLS Secrets that the member names. ImportedNames are the DNS names in them and
	// the hosts for which the member names the Secrets.
	Imports       []model.ManagedCertificate
	ImportedNames []string
	// HeldCertificates are the ARNs of live certificates, by listener port, that were imported or requested for the
	// member, while the flag for this is not set. HeldField is the field that requested them.
	HeldCertificates map[int32][]string
	HeldField        string
}

// IsFromClass reports whether an origin is in the class parameters of the member.
func (m *Member) IsFromClass(o finding.Origin) bool {
	return !o.Object.IsZero() && o.Object == m.Set.Class.Origin.Object
}

// HoldCertificates adds the ARNs of live certificates of a port to HeldCertificates.
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

// Translation is the state of one translation of a stack that is common to all kinds of objects.
type Translation struct {
	ID model.StackID
	// Live is the observed state of the stack; nil if it is not known yet.
	Live *observed.Stack
	// Members are in their order of precedence. Previous are objects that have the finalizer of the stack and are no
	// longer accepted.
	Members, Previous []*Member
	// ClassField is the field of a member that names its class, ClassKind the kind of class parameters.
	ClassField, ClassKind string
	// Isolated reports whether tenancy is isolated: a single class decides the load-balancer-wide settings.
	Isolated bool
	// Owner is the namespace that owns the load balancer: only its members decide the load-balancer-wide settings. It is
	// "" if no member may decide them, and nil if each member may.
	Owner *string
	// BackendSecurityGroup is the id of the shared backend security group that the operator provides, if any.
	BackendSecurityGroup string

	// Stack and Found are the results of the translation.
	Stack model.Stack
	Found finding.List
	// Ports are the ports on which members listen, ascending.
	Ports []*Port

	// unanswered is the number of values that could not be compared with the live values, because AWS did not answer.
	unanswered int
	// memberWithoutClass is a previous member that is still served and whose class cannot be read. Each live value may
	// come from this member or its class.
	memberWithoutClass *Member
	// decidingClass has the class parameters that alone decide in isolated tenancy; nil until classDecides needs them.
	decidingClass *finding.Ref
}
