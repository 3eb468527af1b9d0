package store

import "time"

// ELBConfig adjusts Elastic Load Balancing.
type ELBConfig struct {
	// ProvisioningDelay is how long a new load balancer stays provisioning.
	ProvisioningDelay time.Duration
	// RegistrationDelay is how long a target's registration stays in
	// progress, on an ALB and on an NLB.
	RegistrationDelayALB time.Duration
	RegistrationDelayNLB time.Duration
	// TargetGroupLinger is how long a target group still counts as in use
	// after its last listener or rule has gone.
	TargetGroupLinger time.Duration
	// TrustStoreDelay is how long a new trust store stays CREATING.
	TrustStoreDelay time.Duration
	// CapacityDelay is how long a capacity reservation stays pending.
	CapacityDelay time.Duration
	// AnyTagCharacters accepts characters in tags that AWS rejects, such as a comma, to
	// replay recordings of a service that did not check them.
	AnyTagCharacters bool
	// Disabled forbids the account to create load balancers.
	Disabled bool
	// UnsupportedNLBZones are zones in which an NLB cannot be made.
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

// ACMConfig adjusts the certificate manager.
type ACMConfig struct {
	// ValidationDelay is how long it takes until a DNS record, or the answer
	// to a mail, is seen; negative means that it never is.
	ValidationDelay time.Duration
	// RecordDelay is how long the validation record of a requested certificate
	// is missing from the description.
	RecordDelay time.Duration
	// AssumeRecords treats all DNS records as present, without a look into hosted
	// zones.
	AssumeRecords bool
}

// Route53Config adjusts Route 53.
type Route53Config struct {
	// SyncDelay is how long a change stays PENDING. It is effective at once.
	SyncDelay time.Duration
}

func defaultACMConfig() ACMConfig {
	return ACMConfig{ValidationDelay: 5 * time.Second, RecordDelay: time.Second}
}

// WAFConfig adjusts WAFv2 and WAF Classic.
type WAFConfig struct {
	// PropagationDelay is how long a fresh load balancer or web ACL cannot be
	// associated (WAFUnavailableEntityException).
	PropagationDelay time.Duration
	// ReadDelay is how long a Get right after Associate or Disassociate shows
	// the old state.
	ReadDelay time.Duration
}

func defaultWAFConfig() WAFConfig { return WAFConfig{} }
