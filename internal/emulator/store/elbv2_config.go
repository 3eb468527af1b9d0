package store

import "time"

// ELBConfig configures the emulated Elastic Load Balancing.
type ELBConfig struct {
	// ProvisioningDelay is the time for which a new load balancer stays provisioning.
	ProvisioningDelay time.Duration
	// RegistrationDelayALB and RegistrationDelayNLB are the durations of the registration of a target on an ALB and
	// on an NLB.
	RegistrationDelayALB time.Duration
	RegistrationDelayNLB time.Duration
	// TargetGroupLinger is the time for which a target group is still in use after its last listener or rule was
	// deleted.
	TargetGroupLinger time.Duration
	// TrustStoreDelay is the time for which a new trust store stays CREATING.
	TrustStoreDelay time.Duration
	// CapacityDelay is the time for which a capacity reservation stays pending.
	CapacityDelay time.Duration
	// AnyTagCharacters accepts characters in tags that AWS rejects, such as a comma, to replay recordings of a
	// service that did not check tags.
	AnyTagCharacters bool
	// Disabled prevents the account from creating load balancers.
	Disabled bool
	// UnsupportedNLBZones are zones in which no NLB can be created.
	UnsupportedNLBZones []string
	// DeniedLogBuckets are S3 buckets that load balancers may not write to.
	DeniedLogBuckets []string
}

func defaultELBConfig() ELBConfig {
	return ELBConfig{
		ProvisioningDelay:    time.Second,
		RegistrationDelayALB: 200 * time.Millisecond,
		RegistrationDelayNLB: 200 * time.Millisecond,
	}
}

// ACMConfig configures the emulated Certificate Manager.
type ACMConfig struct {
	// ValidationDelay is the duration of the validation of a domain by a DNS record or by mail. Negative means that
	// validations never succeed.
	ValidationDelay time.Duration
	// RecordDelay is the time for which the description of a requested certificate has no validation record.
	RecordDelay time.Duration
	// AssumeRecords assumes that all validation records exist, and does not read
	// hosted zones.
	AssumeRecords bool
}

// Route53Config configures the emulated Route 53.
type Route53Config struct {
	// SyncDelay is the time for which a change stays PENDING. Records change immediately.
	SyncDelay time.Duration
}

func defaultACMConfig() ACMConfig {
	return ACMConfig{ValidationDelay: 5 * time.Second, RecordDelay: time.Second}
}

// WAFConfig configures the emulated WAFv2 and WAF Classic.
type WAFConfig struct {
	// PropagationDelay is the time for which an association of a new load balancer or web ACL fails with
	// WAFUnavailableEntityException.
	PropagationDelay time.Duration
	// ReadDelay is the time for which GetWebACLForResource returns the old state after AssociateWebACL or
	// DisassociateWebACL.
	ReadDelay time.Duration
}

func defaultWAFConfig() WAFConfig { return WAFConfig{} }
