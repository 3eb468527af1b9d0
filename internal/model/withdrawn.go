package model

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Withdrawn are the existing resources of a stack that its members may not use any more: a class or a listener no longer
// admits their namespace, or no ReferenceGrant permits their references any more. They are removed at once, even if the
// object that used them cannot be translated, and they are never held. Resources are not withdrawn if it is not known
// whether they are permitted.
type Withdrawn struct {
	// Rules has, by ARN, rules for hosts that the namespace of the rule may not serve, and rules of a member that is not
	// admitted. The ARN of a listener means the default action of the listener.
	Rules map[string]Withdrawal
	// TargetGroups has, by ARN, target groups that must get no more requests. A rule that forwards to no other target group
	// then answers with status 500.
	TargetGroups map[string]Withdrawal
	// Certificates are certificates that are removed from their listeners. A listener without another certificate is
	// deleted.
	Certificates map[ListenerCertificate]Withdrawal
	// Protocols has, by the ARN of a TCP_UDP listener, the protocol that the listener keeps.
	Protocols map[string]WithdrawnProtocol
	// Hostnames are hostnames that an existing rule matches although its member has no right to them.
	Hostnames []ForeignHostname
}

// WithdrawnProtocol is the protocol that a TCP_UDP listener keeps, and the reason why the other protocol is withdrawn.
type WithdrawnProtocol struct {
	RemainingProtocol BaseProtocol
	Withdrawal
}

// ForeignHostname is a hostname that an existing rule matches, for example by a wildcard, although the member of the rule
// has no right to it. The rule may serve its other hostnames.
type ForeignHostname struct {
	// Rule is the ARN of the listener rule.
	Rule string
	Host HostHeader
	Withdrawal
}

// ListenerCertificate identifies a certificate on the listener of a port.
type ListenerCertificate struct {
	Port int32
	ARN  string
}

// MarshalText returns the port and the ARN, so that the type can be a key of a JSON object.
func (c ListenerCertificate) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d %s", c.Port, c.ARN), nil
}

// UnmarshalText parses text that MarshalText has returned.
func (c *ListenerCertificate) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%d %s", &c.Port, &c.ARN)
	return err
}

// Withdrawal is the object that has lost a right, with the finding about this.
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
