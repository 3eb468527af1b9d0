package store

import "time"

// ELBConfig configures the emulation of Elastic Load Balancing.
type ELBConfig struct {
	// ProvisioningDelay is how long a new load balancer stays in the state provisioning.
	ProvisioningDelay time.Duration
	// RegistrationDelayALB and RegistrationDelayNLB are how long the registration of a target takes, for an ALB and for an
	// NLB.
	RegistrationDelayALB time.Duration
	RegistrationDelayNLB time.Duration
	// TargetGroupLinger is how long a target group is still in use after the last rule that forwards to it was changed or
	// deleted.
	TargetGroupLinger time.Duration
	// TrustStoreDelay is how long a new trust store stays in the status CREATING.
	TrustStoreDelay time.Duration
	// CapacityDelay is how long a capacity reservation stays in the state pending.
	CapacityDelay time.Duration
	// AnyTagCharacters accepts characters in tags that AWS rejects, such as a comma. It is for recordings of an AWS service
	// that did not check tags.
	AnyTagCharacters bool
	// Disabled makes the creation of all load balancers fail.
	Disabled bool
	// UnsupportedNLBZones lists zones in which no NLB can be created.
	UnsupportedNLBZones []string
	// DeniedLogBuckets lists S3 buckets to which load balancers may not write.
	DeniedLogBuckets []string
}

func defaultELBConfig() ELBConfig {
	return ELBConfig{
		ProvisioningDelay:    time.Second,
		RegistrationDelayALB: 200 * time.Millisecond,
		RegistrationDelayNLB: 200 * time.Millisecond,
	}
}

// ACMConfig configures the emulation of AWS Certificate Manager.
type ACMConfig struct {
	// ValidationDelay is how long the validation of a domain by a DNS record or by email takes. If it is negative, no
	// validation succeeds.
	ValidationDelay time.Duration
	// RecordDelay is how long the description of a requested certificate does not contain the validation record.
	RecordDelay time.Duration
	// AssumeRecords assumes that all validation records exist. If it is false, the records must be in hosted zones of the
	// account.
	AssumeRecords bool
}

// Route53Config configures the emulation of Route 53.
type Route53Config struct {
	// SyncDelay is how long a change stays in the status PENDING. Records change immediately.
	SyncDelay time.Duration
}

func defaultACMConfig() ACMConfig {
	return ACMConfig{ValidationDelay: 5 * time.Second, RecordDelay: time.Second}
}

// WAFConfig configures the emulation of WAFv2 and WAF Classic.
type WAFConfig struct {
	// PropagationDelay is the time after the creation of a load balancer or a web ACL during which operations on its
	// associations fail with WAFUnavailableEntityException.
	PropagationDelay time.Duration
	// ReadDelay is how long GetWebACLForResource returns the previous web ACL after AssociateWebACL or DisassociateWebACL.
	ReadDelay time.Duration
}

func defaultWAFConfig() WAFConfig { return WAFConfig{} }
