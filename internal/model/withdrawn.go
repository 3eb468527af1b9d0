package model

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Withdrawn are the live resources of a stack that its members may not use any more: a class or a listener no longer admits
// their namespace, or no ReferenceGrant permits their references any more. They are removed at once, even if the object that
// used them cannot be translated, and they are never held. A resource that may still be permitted is not included.
type Withdrawn struct {
	// Rules, by ARN, are rules for hosts that the namespace of the rule may not serve, or rules of a member that is not
	// admitted. The ARN of a listener means its default action.
	Rules map[string]Withdrawal
	// TargetGroups, by ARN, get no more requests: a rule that forwards to no other target group answers with status 500.
	TargetGroups map[string]Withdrawal
	// Certificates are removed from their listeners. A listener that has no other certificate is deleted.
	Certificates map[ListenerCertificate]Withdrawal
	// Protocols has, by the ARN of a TCP_UDP listener, the protocol that remains.
	Protocols map[string]WithdrawnProtocol
	// Hostnames are hostnames that a live rule matches although its member has no right to them.
	Hostnames []ForeignHostname
}

// WithdrawnProtocol is the protocol that remains of a TCP_UDP listener, and why the other one is withdrawn.
type WithdrawnProtocol struct {
	Left BaseProtocol
	Withdrawal
}

// ForeignHostname is a hostname that a live rule matches, for example by a wildcard, although the member of the rule has no
// right to it. The rule may serve its other hostnames.
type ForeignHostname struct {
	// Rule is the ARN of the rule.
	Rule string
	Host HostHeader
	Withdrawal
}

// ListenerCertificate is a certificate on the listener of a port.
type ListenerCertificate struct {
	Port int32
	ARN  string
}

// MarshalText returns the port and the ARN, so that the type can be a key of a JSON object.
func (c ListenerCertificate) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d %s", c.Port, c.ARN), nil
}

// UnmarshalText parses the result of MarshalText.
func (c *ListenerCertificate) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%d %s", &c.Port, &c.ARN)
	return err
}

// Withdrawal is the object that has lost a right, and the finding about it.
type Withdrawal struct {
	Object finding.Ref
	// Field, Reason, Message and Fix are those of the finding. Message does not say what happens now.
	Field, Message, Fix string
	Reason              finding.Reason
}

// IsEmpty reports whether nothing is withdrawn.
func (w *Withdrawn) IsEmpty() bool {
	return w == nil || len(w.Rules)+len(w.TargetGroups)+len(w.Certificates)+len(w.Protocols)+len(w.Hostnames) == 0
}
