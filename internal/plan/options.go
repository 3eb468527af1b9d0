package plan

import "time"

// Options are the settings of the operator that plans depend on: flags and feature gates of the controller.
type Options struct {
	Cluster string
	VPC     string
	// ExternalTags are tag keys that other systems manage; the controller neither adds nor removes them.
	ExternalTags []string
	// RuleTags reports whether listeners and listener rules carry tags.
	RuleTags bool
	// SubnetClusterCheck and SingleSubnet are the feature gates SubnetsClusterTagCheck and ALBSingleSubnet.
	SubnetClusterCheck bool
	SingleSubnet       bool
	// EnhancedDefaults resets listener settings that are not desired any more to the defaults of AWS.
	EnhancedDefaults bool
	// ReplaceForHealthChecks replaces a target group of a network load balancer if protocol, success codes, interval or
	// timeout of its health check change. In the past, AWS could not change these in place.
	ReplaceForHealthChecks bool
	// StrictGroups holds a whole stack if one of its members has a fault.
	StrictGroups bool
	// AllowedCAs are the ARNs of the private CAs whose certificates the discovery may choose; if empty, it may choose
	// all.
	AllowedCAs []string
	// SkipManagedCertificates excludes from the discovery certificates that a controller has requested, by their
	// tracking tags. Imported certificates are always excluded.
	SkipManagedCertificates bool
	// ManageCertificates requests and deletes certificates where members ask for it.
	ManageCertificates bool
	// ImportCertificates imports the certificates of TLS Secrets that members name, and deletes them.
	ImportCertificates bool
	// AccountImports is the quota of imported certificates of the account; 0: DefaultAccountImports.
	AccountImports int
	// Propagation is the time that all nodes of a load balancer need to apply a change of listeners and rules. Until then
	// some of them send requests to the previous target groups, so that these keep their targets.
	Propagation time.Duration
	// CreateFirst creates the replacement of a load balancer before the replaced one is deleted, DeletionDelay after
	// the status began to show the new one. Without it, the replaced one is deleted first.
	CreateFirst   bool
	DeletionDelay time.Duration
	// Accelerators reports whether load balancers may be endpoints of accelerators, so that each deletion has to
	// check that.
	Accelerators bool
	// Stabilization is the interval in which the state of a load balancer whose capacity must be set is read again while AWS
	// provisions it; 0: the usual poll interval.
	Stabilization time.Duration
}

// Memory is what the engine has recorded about earlier runs of the stack. The zero value describes a stack whose last change
// was completed long ago.
type Memory struct {
	// PausedImports are, by id, the certificates that were imported so often that the next import has to wait.
	PausedImports map[string]ImportPause
	// RemainingPropagation is the time during which some nodes of the load balancer may not have applied earlier changes yet.
	RemainingPropagation time.Duration
	// WaitedTimes is the time for which the plans of the stack have waited so far, by the keys of Plan.WaitKeys.
	WaitedTimes map[string]time.Duration
	// LastChangeUnfinished is set if the last change of the stack was not completed, or may not have been completed. Then a
	// security group may have a rule for a listener that was never created.
	LastChangeUnfinished bool
}

// ManagesCertificates reports whether stacks may request or import certificates.
func (o Options) ManagesCertificates() bool { return o.ManageCertificates || o.ImportCertificates }
