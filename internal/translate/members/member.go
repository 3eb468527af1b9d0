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
	// ClaimedAt is since when the member can claim its stack: the creation time of the object, or of its class
	// parameters if they name the stack and are older. The object alone would not do: it can be older than its
	// membership, and parameters that are created again are younger than the objects that they serve.
	ClaimedAt time.Time
	// NamedByClass reports whether the class names the stack.
	NamedByClass bool

	Set settings.Shared
	// OwnTags are the tags that the object itself sets.
	OwnTags settings.Opt[map[string]string]
	// Faults are the faults that hold everything of the member.
	Faults []settings.Fault
	// ClassTags are the tags of the class alone, Tags those of the object and the class, which wins.
	ClassTags, Tags map[string]string

	// Blocked reports whether everything of the member is held; Undetermined reports whether also its ports, or its
	// position in the order of the members, are unknown.
	Blocked, Undetermined bool
	// Oversized reports whether the member has more listeners or rules than the operator allows.
	Oversized bool
	// ClassMissing reports whether the member is not accepted because its class cannot be read, and not because
	// the class does not admit it.
	ClassMissing bool
	// DeletionGuarded reports whether the member is being deleted while it sets deletion protection.
	DeletionGuarded bool
	Ports           []settings.ListenPort
	// Hosts are the hosts of the member that need certificates, in order, and HostFields the first field that names
	// each.
	Hosts, HostFields []string
	// Certificate is the certificate to be requested from ACM, if any; RequestsCertificate reports whether the member
	// asks for one.
	Certificate         *model.ManagedCertificate
	RequestsCertificate bool
	// Imports are the certificates of the TLS Secrets that the member names, ImportedNames the DNS names in them and
	// the hosts that the Secrets are meant for.
	Imports       []model.ManagedCertificate
	ImportedNames []string
	// HeldCertificates are the ARNs of live certificates that were imported or requested for the member, by listener
	// port, while the flag for that is not set. HeldField is the field that asked for them.
	HeldCertificates map[int32][]string
	HeldField        string
}

// ByClass reports whether an origin is in the class of the member.
func (m *Member) ByClass(o finding.Origin) bool {
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

// Translation is one translation of a stack: the part that is the same for all kinds of objects.
type Translation struct {
	ID model.StackID
	// Live is the observed state of the stack; nil if it is not known yet.
	Live *observed.Stack
	// Members are in their order of precedence. Previous are objects that have the finalizer of the stack and are not
	// accepted any more.
	Members, Previous []*Member
	// ClassField is the field of a member that names its class, ClassKind the kind of class parameters.
	ClassField, ClassKind string
	// Isolated reports whether tenancy is isolated: one class alone decides the load-balancer-wide settings.
	Isolated bool
	// Owner is the namespace that owns the load balancer: only its members decide the load-balancer-wide settings. It is
	// "" if no member may decide them, and nil if each member may.
	Owner *string
	// BackendGroup is the id of the shared backend security group that the operator provides, if any.
	BackendGroup string

	// Stack and Found are the results of the translation.
	Stack model.Stack
	Found finding.List
	// Ports are the ports on which members listen, ascending.
	Ports []*Port

	// unanswered counts the values that could not be compared with the live ones, because AWS gives no answer.
	unanswered int
	// memberWithoutClass is a previous member that is still served and has a class that cannot be read. Each live
	// value may be that of the member or of its class.
	memberWithoutClass *Member
	// decidingClass are the class parameters that decide alone in isolated tenancy; nil until ClassDecides needs them.
	decidingClass *finding.Ref
}
