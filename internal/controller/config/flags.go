package config

import (
	"github.com/spf13/pflag"
)

// AddFlags registers all flags in a flag set. The defaults are the current values of c. Parsing the flag set changes c.
func (c *Config) AddFlags(fs *pflag.FlagSet) {
	fs.SortFlags = true
	fs.StringVar(&c.ClusterName, "cluster-name", c.ClusterName, "name of the cluster, used in names and tags of AWS resources (required)")
	fs.StringVar(&c.LogLevel, "log-level", c.LogLevel, "info or debug; PUT /log-level at the address of the health probes changes it at run time")
	fs.StringVar(&c.LogFormat, "log-format", c.LogFormat, "json (one JSON object per line) or text (readable in a terminal)")
	fs.Var(&c.Gates, GatesFlag, c.Gates.helpText())
	fs.BoolVar(&c.AllowMassRemoval, "allow-mass-removal", c.AllowMassRemoval, "disable the safety checks that keep load balancers and accelerators: when a class or flag selects another controller for 3 or more unedited Ingresses or Gateways, when a flag excludes an unedited Service, and when the CRD of GlobalAccelerators is deleted")
	fs.StringSliceVar(&c.ImportTLSSecrets, "import-tls-secrets", c.ImportTLSSecrets, "kinds of objects whose TLS Secrets are imported into ACM: ingress (spec.tls), gateway (certificateRefs); none if empty")
	fs.BoolVar(&c.Shadow.Enabled, "shadow", c.Shadow.Enabled, "make plans beside the controller that serves the cluster, but write nothing to Kubernetes or AWS; metrics and --shadow-report show the planned steps")
	fs.StringVar(&c.Shadow.ReportFile, "shadow-report", c.Shadow.ReportFile, "file that --shadow writes its report to, as JSON; none if empty")
	fs.StringVar(&c.Drift, "drift", c.Drift, "how drift in AWS is handled: repair, report (only an event) or off (not detected)")
	fs.BoolVar(&c.StrictIngressGroups, "strict-groups", c.StrictIngressGroups, "hold a whole IngressGroup if one of its Ingresses has an error")

	k := &c.Kubernetes
	fs.StringVar(&k.Kubeconfig, "kubeconfig", k.Kubeconfig, "path of a kubeconfig; if empty, the environment variable KUBECONFIG, then the pod's own cluster")
	fs.StringVar(&k.WatchNamespace, "watch-namespace", k.WatchNamespace, "the only namespace to watch; all if empty")
	fs.DurationVar(&k.SyncPeriod, "sync-period", k.SyncPeriod, "how often a load balancer or TargetGroupBinding that has not changed is compared with AWS")
	fs.StringVar(&k.RequiredSecretsLabel, "required-secrets-label", k.RequiredSecretsLabel, "label that Secrets must have, as key=value")

	a := &c.AWS
	fs.StringVar(&a.Region, "aws-region", a.Region, "region; if empty, AWS_DEFAULT_REGION, AWS_REGION, then the instance metadata")
	fs.StringVar(&a.VPC, "aws-vpc-id", a.VPC, "VPC of the cluster; discovered if empty")
	fs.StringToStringVar(&a.VPCTags, "aws-vpc-tags", a.VPCTags, "tags by which the VPC is discovered")
	fs.StringVar(&a.VPCTagKey, "aws-vpc-tag-key", a.VPCTagKey, "deprecated, no effect")
	fs.IntVar(&a.MaxRetries, "aws-max-retries", a.MaxRetries, "attempts per AWS call; 3 if 0 or less")
	fs.StringToStringVar(&a.Endpoints, "aws-api-endpoints", a.Endpoints, "serviceID=URL pairs that override AWS endpoints; they take precedence over AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_SERVICE")
	fs.DurationVar(&a.Stabilization, "lb-stabilization-monitor-interval", a.Stabilization, "delay before a provisioning load balancer is checked again, if its capacity has to be set")
	fs.StringVar(&a.Throttle, "aws-api-throttle", a.Throttle, "serviceID:operationRegex=rate:burst,... fixed rate limits of AWS calls per second, which replace the rates that the controller learns for the service")

	d := &c.Defaults
	fs.StringToStringVar(&d.Tags, "default-tags", d.Tags, "tags of all AWS resources")
	fs.StringSliceVar(&d.ExternalManagedTags, "external-managed-tags", d.ExternalManagedTags, "tag keys that are neither added nor removed")
	fs.StringVar(&d.TargetType, "default-target-type", d.TargetType, "instance or ip")
	fs.StringVar(&d.Scheme, "default-load-balancer-scheme", d.Scheme, "internal or internet-facing")
	fs.StringVar(&d.SSLPolicy, "default-ssl-policy", d.SSLPolicy, "TLS policy of HTTPS listeners")

	i := &c.Ingress
	fs.StringVar(&i.Class, "ingress-class", i.Class, "value of the kubernetes.io/ingress.class annotation to serve")
	fs.BoolVar(&i.TolerateMissingService, "tolerate-non-existent-backend-service", i.TolerateMissingService, "answer 503 for a missing Service instead of holding the rule")
	fs.BoolVar(&i.TolerateMissingAction, "tolerate-non-existent-backend-action", i.TolerateMissingAction, "answer 503 for a missing action instead of holding the rule")
	fs.StringSliceVar(&i.CertificateAuthorities, "allowed-certificate-authority-arns", i.CertificateAuthorities, "private CAs whose certificates may be discovered; all if empty")
	fs.StringVar(&i.DefaultPCA, "default-pca-arn", i.DefaultPCA, "ARN of the private CA that issues requested certificates, unless annotation acm-pca-arn names another; ACM issues public certificates if empty")
	fs.StringVar(&i.Tenancy, "ingress-group-tenancy", i.Tenancy, "what members of an IngressGroup may do to each other: cooperative or isolated")
	fs.IntVar(&i.MaxListeners, "max-listeners-per-ingress", i.MaxListeners, "maximum number of ports that one Ingress may listen on")
	fs.IntVar(&i.MaxRules, "max-rules-per-namespace", i.MaxRules, "maximum number of rules that the Ingresses of a namespace may have in one IngressGroup, or its routes on one Gateway")
	fs.IntVar(&i.ConditionValues, "max-condition-values-per-rule", i.ConditionValues, "maximum number of condition values that AWS accepts in a rule: the account's quota condition-values-per-alb-rule")
	fs.IntVar(&i.ConditionWildcards, "max-condition-wildcards-per-rule", i.ConditionWildcards, "maximum number of wildcards that AWS accepts in the conditions of a rule: the account's quota condition-wildcards-per-alb-rule")
	fs.BoolVar(&i.ExactRegexHosts, "exact-regex-hosts", i.ExactRegexHosts, "create rules that come after a redirect and have only regular expressions as hosts; if false, they are omitted, as by aws-load-balancer-controller")
	fs.BoolVar(&i.WAFv2, "enable-wafv2", i.WAFv2, "associate the WAFv2 web ACLs that Ingresses name")
	fs.BoolVar(&i.WAFClassic, "enable-waf", i.WAFClassic, "associate the WAF Classic web ACLs that Ingresses name")
	fs.BoolVar(&i.Shield, "enable-shield", i.Shield, "manage the Shield Advanced protections that Ingresses enable")

	g := &c.Accelerators
	fs.StringSliceVar(&g.EndpointIDs, "accelerator-endpoint-ids", g.EndpointIDs, "patterns with * of ARNs and ids that GlobalAccelerators may name as endpoints, besides load balancers of the cluster; if empty, all but nodes and Elastic IP addresses of the cluster")
	fs.StringSliceVar(&g.AddressNamespaces, "accelerator-address-namespaces", g.AddressNamespaces, "namespaces whose GlobalAccelerators may use addresses of the account's own ranges; all if empty")
	fs.IntVar(&g.MaxPerNamespace, "max-accelerators-per-namespace", g.MaxPerNamespace, "maximum number of accelerators of a namespace; 0 means no limit")

	fs.StringVar(&c.Service.Class, "load-balancer-class", c.Service.Class, "spec.loadBalancerClass of the Services to serve")
	fs.BoolVar(&c.Service.CrossNamespaceGroups, "cross-namespace-load-balancer-groups", c.Service.CrossNamespaceGroups, "let Services share load balancers of other namespaces by fulcrum.dev/load-balancer-group: NAMESPACE/NAME")

	r := &c.Replacement
	fs.StringVar(&r.Order, "replacement", r.Order, "order of steps when a changed scheme replaces a load balancer: create-first (no gap) or delete-first (as aws-load-balancer-controller)")
	fs.DurationVar(&r.DeletionDelay, "replacement-deletion-delay", r.DeletionDelay, "how long the previous load balancer is kept after the status shows the new one; choose a time longer than the TTL of cached DNS answers")

	s := &c.Security
	fs.BoolVar(&s.BackendSecurityGroup, "enable-backend-security-group", s.BackendSecurityGroup, "use a shared security group as the source of traffic to targets")
	fs.StringVar(&s.BackendSecurityGroupID, "backend-security-group", s.BackendSecurityGroupID, "id of the shared security group; created if empty")
	fs.BoolVar(&s.ManageBackendRules, "enable-manage-backend-security-group-rules", s.ManageBackendRules, "manage security group rules of targets also if users set the security groups")
	fs.BoolVar(&s.UnrestrictedRules, "disable-restricted-sg-rules", s.UnrestrictedRules, "admit traffic to all ports of targets, not only to the ports that are needed")
	fs.StringToStringVar(&s.ENISecurityGroupTags, "service-target-eni-security-group-tags", s.ENISecurityGroupTags, "additional tags that select the security group of a target's ENI")

	t := &c.Targets
	fs.IntVar(&t.MaxPerTargetGroup, "max-targets-per-target-group", t.MaxPerTargetGroup, "maximum number of targets in a target group; 0 or less means no limit")
	fs.DurationVar(&t.RequeueDuration, "targetgroupbinding-requeue-duration", t.RequeueDuration, "delay before targets that are not healthy yet are checked again")
	fs.DurationVar(&t.MaxBackoff, "targetgroupbinding-max-exponential-backoff-delay", t.MaxBackoff, "maximum back-off after failures")
	fs.BoolVar(&t.EndpointSlices, "enable-endpoint-slices", t.EndpointSlices, "find pods by EndpointSlices; by Endpoints objects if false")
	fs.DurationVar(&t.ComparisonDeferral, "targetgroupbinding-deferral-window", t.ComparisonDeferral, "time after startup before unchanged TargetGroupBindings are compared with AWS; a random part of up to 50% is added")
	fs.StringVar(&t.QUICVariable, "quic-environment-variable-name", t.QUICVariable, "name of the environment variable of containers with the QUIC server ID")

	w := &c.Workers
	fs.IntVar(&w.Ingress, "ingress-max-concurrent-reconciles", w.Ingress, "load balancers that are reconciled concurrently, added to those of the flags for Services and Gateways")
	fs.IntVar(&w.Service, "service-max-concurrent-reconciles", w.Service, "load balancers that are reconciled concurrently, added to those of the flags for Ingresses and Gateways")
	fs.IntVar(&w.ALBGateway, "alb-gateway-max-concurrent-reconciles", w.ALBGateway, "load balancers that are reconciled concurrently, added to those of the flags for Ingresses and Services")
	fs.IntVar(&w.NLBGateway, "nlb-gateway-max-concurrent-reconciles", w.NLBGateway, "load balancers that are reconciled concurrently, added to those of the flags for Ingresses and Services")
	fs.IntVar(&w.GatewayClass, "gateway-class-max-concurrent-reconciles", w.GatewayClass, "GatewayClasses and configurations of Gateways that are reconciled concurrently")
	fs.IntVar(&w.Accelerator, "globalaccelerator-max-concurrent-reconciles", w.Accelerator, "accelerators that are reconciled concurrently, added to those of the flags for Ingresses, Services and Gateways")
	fs.DurationVar(&w.AcceleratorMaxBackoff, "globalaccelerator-max-exponential-backoff-delay", w.AcceleratorMaxBackoff, "maximum back-off of accelerators after failures; the first is 5s")
	fs.IntVar(&w.Binding, "targetgroupbinding-max-concurrent-reconciles", w.Binding, "TargetGroupBindings that are reconciled concurrently")

	e := &c.Election
	fs.BoolVar(&e.Enabled, "enable-leader-election", e.Enabled, "use leader election, so that only one of several replicas writes")
	fs.StringVar(&e.ID, "leader-election-id", e.ID, "name of the Lease")
	fs.StringVar(&e.Namespace, "leader-election-namespace", e.Namespace, "namespace of the Lease; that of the pod if empty")

	v := &c.Serving
	fs.StringVar(&v.Metrics, "metrics-bind-addr", v.Metrics, "address of the metrics endpoint; 0 disables it")
	fs.StringVar(&v.Probes, "health-probe-bind-addr", v.Probes, "address of the health probes")
	fs.StringVar(&v.Profiling, "profiling-bind-addr", v.Profiling, "address of the profiles of the Go runtime, such as 127.0.0.1:6060; none if empty. Every client that can connect to it sees the command line and code paths")
	fs.StringVar(&v.Webhooks, "webhooks", v.Webhooks, "on or off; if off, no admission webhook is served, so objects are neither checked nor changed at admission; then delete the webhook configurations as well")
	fs.IntVar(&v.WebhookPort, "webhook-bind-port", v.WebhookPort, "port of webhooks")
	fs.StringVar(&v.WebhookCertDir, "webhook-cert-dir", v.WebhookCertDir, "directory of the webhooks' certificate; k8s-webhook-server/serving-certs in the directory TMPDIR, or /tmp, if empty")
	fs.StringVar(&v.WebhookCertFile, "webhook-cert-file", v.WebhookCertFile, "file of the certificate; tls.crt if empty")
	fs.StringVar(&v.WebhookKeyFile, "webhook-key-file", v.WebhookKeyFile, "file of the key; tls.key if empty")
	fs.StringVar(&v.WebhookPrefix, "webhook-name-prefix", v.WebhookPrefix, "beginning of the names of the webhooks' Service, Secret and configurations")
	fs.StringVar(&v.WebhookClientCA, "kube-ca-pem-filepath", v.WebhookClientCA, "CA that must have signed the certificates of webhook callers")

	m := &c.Admission
	fs.BoolVar(&m.DisableClassAnnotation, "disable-ingress-class-annotation", m.DisableClassAnnotation, "deny new uses of the annotation kubernetes.io/ingress.class")
	fs.BoolVar(&m.DisableGroupAnnotation, "disable-ingress-group-name-annotation", m.DisableGroupAnnotation, "deny new and changed uses of the annotation group.name")
	fs.BoolVar(&m.ReadinessGates, "enable-pod-readiness-gate-inject", m.ReadinessGates, "inject readiness gates into pods")
}

// UnsupportedFlags returns, as "--flag=value", the flags that were set and have no effect in this version.
func (c Config) UnsupportedFlags() []string {
	var out []string
	if c.AWS.VPCTagKey != Default().AWS.VPCTagKey && len(c.AWS.VPCTags) > 0 {
		out = append(out, "--aws-vpc-tag-key="+c.AWS.VPCTagKey)
	}
	return out
}
