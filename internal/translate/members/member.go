package members

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Member is an object that takes part in a stack.
type Member struct {
	Ref finding.Ref
	// Created is when the object was made.
	Created time.Time
	// ClaimedAt is when what names its stack was made: the object itself, or its class parameters where
	// they are older. An object can be as old as its author likes before it joins, and parameters that
	// are made again are younger than the objects that they serve.
	ClaimedAt time.Time
	// NamedByClass reports that the class names the stack.
	NamedByClass bool

	Set settings.Shared
	// OwnTags are the tags that the object itself asks for.
	OwnTags settings.Opt[map[string]string]
	// Faults are the faults that hold everything of the member.
	Faults []settings.Fault
	// ClassTags are the tags of the class alone, Tags those over the member's own.
	ClassTags, Tags map[string]string

	// Blocked reports whether everything the member contributes is held; Undetermined that it is not even known
	// which ports it has, or where among the others it stands.
	Blocked, Undetermined bool
	// Oversized is for one with more listeners or rules than the operator allows.
	Oversized bool
	// ClassMissing is for one that is not accepted because its class cannot be read, rather than
	// because the class does not admit it.
	ClassMissing bool
	// Guarded is for one that is being deleted while it asks for deletion protection.
	Guarded bool
	Ports   []settings.ListenPort
	// Hosts are the hosts that it needs certificates for, in order, and HostFields the first field that names each.
	Hosts, HostFields []string
	// Certificate is a certificate to be requested; Secure reports whether one was asked for.
	Certificate *model.ManagedCertificate
	Secure      bool
	// Imports are certificates of TLS Secrets that it names, Imported the names that they are for.
	Imports  []model.ManagedCertificate
	Imported []string
	// HeldCertificates are live certificates that were imported or requested for it, by the port that they are on, while
	// the flag for that is missing, and HeldField the field that asked for them.
	HeldCertificates map[int32][]string
	HeldField        string
}

// ByClass reports whether something that the member asks for comes from its class.
func (m *Member) ByClass(o finding.Origin) bool {
	return !o.Object.IsZero() && o.Object == m.Set.Class.Origin.Object
}

// HoldCertificates adds live certificates of a port that are held.
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

// Translation is one translation of a stack, as far as its members share it.
type Translation struct {
	ID model.StackID
	// Live is what is observed of the stack; nil: not known.
	Live *observed.Stack
	// Members in their order of precedence, and former ones: objects that carry the finalizer of the stack
	// and are not accepted.
	Members, Previous []*Member
	// ClassField is the field of a member that names its class, ClassKind the kind of class parameters.
	ClassField, ClassKind string
	// Isolated keeps members of different namespaces apart: the class alone decides the load-balancer-wide
	// settings.
	Isolated bool
	// Owner is the namespace whose members decide the load-balancer-wide settings, "" if none do; nil where each member may.
	Owner *string
	// BackendGroup is the id of the shared backend security group that the operator gives, if any.
	BackendGroup string

	// Stack and Found are what comes out.
	Stack model.Stack
	Found finding.List
	// Ports are the ports on which members listen, ascending.
	Ports []*Port

	// unanswered counts what could not be compared with what is live, because AWS gives no answer.
	unanswered int
	// missingClass is a former member whose class cannot be read and whose rules are live. It, or its class,
	// may have asked for all that is live.
	missingClass *Member
	// decider are the class parameters that decide alone in isolated tenancy, found when first needed.
	decider *finding.Ref
}
