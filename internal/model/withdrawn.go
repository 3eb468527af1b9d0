package model

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Withdrawn are the live parts of a stack to which its members have lost their right: a class or a listener does not admit
// their namespace, or no ReferenceGrant permits their references. These are removed at once, even if the object that had the
// right cannot be translated, and are never held. Parts whose right may still exist are not included.
type Withdrawn struct {
	// Rules, by ARN, are for hosts that their namespace may not serve, or of a member that is not admitted. The ARN of a
	// listener means its default action.
	Rules map[string]Withdrawal
	// TargetGroups, by ARN, get no requests: a rule that forwards to nothing else answers 500.
	TargetGroups map[string]Withdrawal
	// Certificates are removed from their listeners. A listener without another certificate is deleted.
	Certificates map[ListenerCertificate]Withdrawal
	// Protocols has the protocol that remains, by the ARN of a TCP_UDP listener.
	Protocols map[string]WithdrawnProtocol
	// Hostnames are hostnames that a live rule matches and that belong to owners other than its member.
	Hostnames []ForeignHostname
}

// WithdrawnProtocol is the protocol that remains of a TCP_UDP listener, and why the other one is withdrawn.
type WithdrawnProtocol struct {
	Left BaseProtocol
	Withdrawal
}

// ForeignHostname is a hostname that a live rule matches, for example by a wildcard, and to which the member of the rule has no
// right. The rule may serve its other hostnames.
type ForeignHostname struct {
	// Rule is the ARN of the rule.
	Rule string
	Host HostHeader
	Withdrawal
}

// ListenerCertificate is a certificate of the listener of a port.
type ListenerCertificate struct {
	Port int32
	ARN  string
}

// MarshalText returns port and ARN, so that the type can be a key of a JSON object.
func (c ListenerCertificate) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d %s", c.Port, c.ARN), nil
}

// UnmarshalText parses the result of MarshalText.
func (c *ListenerCertificate) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%d %s", &c.Port, &c.ARN)
	return err
}

// Withdrawal is the member that has lost a right, and the finding about it.
type Withdrawal struct {
	Object finding.Ref
	// Field, Reason, Message and Fix are those of the finding. Message does not include what happens now.
	Field, Message, Fix string
	Reason              finding.Reason
}

// IsEmpty reports whether nothing is withdrawn.
func (w *Withdrawn) IsEmpty() bool {
	return w == nil || len(w.Rules)+len(w.TargetGroups)+len(w.Certificates)+len(w.Protocols)+len(w.Hostnames) == 0
}
