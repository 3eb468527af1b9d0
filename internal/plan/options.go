package plan

import "time"

// Options are the operator's settings that a plan depends on.
type Options struct {
	Cluster string
	VPC     string
	// ExternalTags are keys that are never added nor removed.
	ExternalTags []string
	// RuleTags reports whether listeners and rules carry tags.
	RuleTags bool
	// SubnetClusterCheck, SingleSubnet: see the feature gates of these names.
	SubnetClusterCheck bool
	SingleSubnet       bool
	// EnhancedDefaults resets listener settings that are no longer desired.
	EnhancedDefaults bool
	// ReplaceForHealthChecks replaces a target group of a network load balancer where protocol, success codes,
	// interval or timeout of its health check change, as AWS once could not change these.
	ReplaceForHealthChecks bool
	// StrictGroups lets one fault stop the whole group.
	StrictGroups bool
	// AllowedCAs limits certificate discovery to these private CAs; empty admits all.
	AllowedCAs []string
	// SkipManagedCertificates leaves requested certificates with our tracking tags out of discovery; imported ones
	// are left out always.
	SkipManagedCertificates bool
	// ManageCertificates requests and deletes certificates where members ask for it.
	ManageCertificates bool
	// ImportCertificates imports the certificates of TLS Secrets that members name, and deletes them.
	ImportCertificates bool
	// AccountImports is how many imported certificates an account has; 0: 2,500, which is AWS's default.
	AccountImports int
	// Propagation is how long a change of listeners and rules takes to reach the nodes of a load
	// balancer. Until then they send requests the old way, so what was in use is left alone.
	Propagation time.Duration
	// CreateFirst makes a load balancer that takes the place of another before that one is deleted, which is
	// DeletionDelay after the status shows the new one. Otherwise the old one is deleted first.
	CreateFirst   bool
	DeletionDelay time.Duration
	// Accelerators reports that load balancers may be endpoints of accelerators.
	Accelerators bool
	// Stabilization is when to look again at a load balancer that is still provisioning, if its
	// capacity has to be set; 0: as soon as is usual.
	Stabilization time.Duration
}

// Memory is what is remembered of earlier runs of the stack. The zero value is that of a stack whose last change was
// carried out in full, long ago.
type Memory struct {
	// ImportsPaused are certificates, by id, that were imported so often that they are not imported now.
	ImportsPaused map[string]ImportPause
	// PropagationLeft is for how long earlier changes of the stack may not have reached all nodes yet.
	PropagationLeft time.Duration
	// Waited is for how long what has been waited for, by the keys of Plan.Waiting.
	Waited map[string]time.Duration
	// Unfinished reports that the last change of the stack was not carried out in full, or that this is not
	// known. Then a rule of a security group may be there for a listener that was never made.
	Unfinished bool
}

// ManagesCertificates reports whether stacks have certificates of their own.
func (o Options) ManagesCertificates() bool { return o.ManageCertificates || o.ImportCertificates }
