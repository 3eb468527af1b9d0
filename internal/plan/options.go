package plan

import "time"

// Options are the flags and feature gates of the controller on which plans depend.
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
	// EnhancedDefaults is set if listener settings that are not desired any more are reset to the AWS defaults.
	EnhancedDefaults bool
	// ReplaceForHealthChecks replaces a target group of a network load balancer if protocol, success codes, interval or
	// timeout of its health check change. In the past, AWS could not change these in place.
	ReplaceForHealthChecks bool
	// StrictGroups is set if a whole stack is held when one of its members has a fault.
	StrictGroups bool
	// AllowedCAs are the ARNs of the private CAs whose certificates certificate discovery may choose; if empty, discovery
	// may choose the certificates of all CAs.
	AllowedCAs []string
	// SkipManagedCertificates excludes certificates that a controller has requested, identified by their tracking tags, from
	// certificate discovery. Imported certificates are always excluded.
	SkipManagedCertificates bool
	// ManageCertificates is set if the controller requests certificates from ACM where members ask for it, and deletes them.
	ManageCertificates bool
	// ImportCertificates is set if the controller imports the certificates of TLS Secrets that members name into ACM, and
	// deletes these imported certificates.
	ImportCertificates bool
	// AccountImports is the quota of imported certificates of the account; 0: DefaultAccountImports.
	AccountImports int
	// Propagation is the time that all nodes of a load balancer need to apply a change of listeners and rules. Until then
	// some nodes still send requests to the previous target groups, so that these keep their targets.
	Propagation time.Duration
	// CreateFirst creates the replacement of a load balancer before the replaced one is deleted, which happens DeletionDelay
	// after the status began to show the new load balancer. Without CreateFirst, the replaced load balancer is deleted
	// first.
	CreateFirst   bool
	DeletionDelay time.Duration
	// Accelerators is set if load balancers may be endpoints of accelerators. Then this is checked before a load balancer is
	// deleted.
	Accelerators bool
	// Stabilization is the interval in which the state of a load balancer whose capacity must be set is read again while AWS
	// provisions it; 0: the usual poll interval.
	Stabilization time.Duration
}

// Memory is what the engine has recorded about earlier runs of the stack. The zero value describes a stack whose last change
// was completed long ago, so that AWS has applied it everywhere.
type Memory struct {
	// PausedImports are, by id, the certificates that were imported so often that the next import has to wait.
	PausedImports map[string]ImportPause
	// RemainingPropagation is the time during which some nodes of the load balancer may not have applied earlier changes yet.
	RemainingPropagation time.Duration
	// WaitedTimes has, by the keys of Plan.WaitKeys, how long the plans of the stack have contained the wait so far.
	WaitedTimes map[string]time.Duration
	// LastChangeUnfinished is set if the last change of the stack was not completed, or may not have been completed. Then a
	// security group may have a rule for a listener that was never created.
	LastChangeUnfinished bool
}

// ManagesCertificates reports whether stacks may request or import certificates.
func (o Options) ManagesCertificates() bool { return o.ManageCertificates || o.ImportCertificates }
