package plan

import "time"

// Options are the flags and feature gates of the controller on which plans depend.
type Options struct {
	Cluster string
	VPC     string
	// ExternalTags are the keys of tags that other systems manage; the controller neither adds nor removes these tags.
	ExternalTags []string
	// RuleTags is set if the controller adds tags to listeners and listener rules.
	RuleTags bool
	// SubnetClusterCheck and SingleSubnet are the feature gates SubnetsClusterTagCheck and ALBSingleSubnet.
	SubnetClusterCheck bool
	SingleSubnet       bool
	// EnhancedDefaults is set if listener settings that are not desired any more are reset to the AWS defaults. Settings of
	// Gateways are always reset.
	EnhancedDefaults bool
	// ReplaceForHealthChecks replaces a target group of a network load balancer if the protocol, success codes, interval or
	// timeout of its health check changes. Earlier versions of the AWS API could not change these settings in place.
	ReplaceForHealthChecks bool
	// StrictGroups is set if a member with an error causes the whole stack to be held.
	StrictGroups bool
	// AllowedCAs are the ARNs of the private CAs whose certificates certificate discovery may choose. If it is empty,
	// discovery may choose the certificates of all CAs.
	AllowedCAs []string
	// SkipManagedCertificates is set if certificate discovery does not choose certificates that a controller has requested
	// from ACM. Their tracking tags identify these certificates. Discovery for Gateways may choose them. Discovery never
	// chooses certificates that a controller has imported.
	SkipManagedCertificates bool
	// ManageCertificates is set if the controller requests certificates from ACM for members that need them, and deletes these
	// certificates when they are not needed any more.
	ManageCertificates bool
	// ImportCertificates is set if the controller imports certificates of TLS Secrets into ACM for members that reference
	// the Secrets, and deletes these imported certificates when they are not needed any more.
	ImportCertificates bool
	// ImportedCertificateQuota is the account's quota of imported certificates; 0: DefaultImportedCertificateQuota.
	ImportedCertificateQuota int
	// Propagation is the time that all nodes of a load balancer need to apply a change of listeners and rules. Until then,
	// some nodes still send requests to the previous target groups. These target groups keep their targets during this time.
	Propagation time.Duration
	// CreateFirst creates the replacement of a load balancer before the previous load balancer is deleted. The deletion
	// happens DeletionDelay after the status begins to show the new load balancer. Without CreateFirst, the previous load
	// balancer is deleted first.
	CreateFirst   bool
	DeletionDelay time.Duration
	// Accelerators is set if load balancers may be endpoints of accelerators. In this case, a load balancer is deleted only
	// when no accelerator has it as an endpoint, or when the wait for this reaches its deadline.
	Accelerators bool
	// Stabilization is the interval at which the state of a load balancer is read while AWS provisions it and its capacity
	// must be set; 0: the usual poll interval.
	Stabilization time.Duration
}

// Memory is what the engine has recorded in earlier runs of the stack. The zero value describes a stack whose last change
// was completed long ago, so that all nodes of the load balancer have applied it.
type Memory struct {
	// PausedImports has, by the model ID of a certificate, the pause before the certificate may be imported again, because it
	// was imported too often.
	PausedImports map[string]ImportPause
	// RemainingPropagation is the time during which some nodes of the load balancer may still not have applied earlier
	// changes.
	RemainingPropagation time.Duration
	// WaitedTimes has, by the key of a wait (Plan.WaitKeys), the time since the first plan of the stack that contained the
	// wait.
	WaitedTimes map[string]time.Duration
	// LastChangeUnfinished is set if the last change of the stack was not completed, or may not have been completed. In this
	// case, a security group may have a rule for a listener that was never created.
	LastChangeUnfinished bool
}

// ManagesCertificates reports whether the controller may request or import certificates for stacks.
func (o Options) ManagesCertificates() bool { return o.ManageCertificates || o.ImportCertificates }
