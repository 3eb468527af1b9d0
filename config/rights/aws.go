package rights

// The scenarios in which the controller uses the AWS permissions. Each is a part of a test of internal/test/harness.
const (
	ScenarioIngress               Scenario = "an Ingress from its creation to its deletion"
	ScenarioSettings              Scenario = "an Ingress whose settings change"
	ScenarioNodes                 Scenario = "targets that are nodes"
	ScenarioPodNetworks           Scenario = "targets that are pods with their own ENIs"
	ScenarioSubnets               Scenario = "subnets without tags, and address types"
	ScenarioElasticIPs            Scenario = "a Service with Elastic IP addresses"
	ScenarioPeeredIPv6            Scenario = "targets with IPv6 addresses"
	ScenarioAddressPools          Scenario = "pools of addresses"
	ScenarioCognito               Scenario = "authentication by Cognito"
	ScenarioIAMCertificate        Scenario = "a certificate of IAM"
	ScenarioCertificates          Scenario = "certificates that are found by host"
	ScenarioTrustStores           Scenario = "client certificates"
	ScenarioCapacity              Scenario = "reserved capacity"
	ScenarioWebACLs               Scenario = "a web ACL"
	ScenarioClassicWebACLs        Scenario = "a web ACL of WAF Classic"
	ScenarioProtection            Scenario = "Shield Advanced"
	ScenarioRequestedCertificates Scenario = "certificates that the controller requests"
	ScenarioPrivateCA             Scenario = "certificates that a private CA issues"
	ScenarioImports               Scenario = "TLS Secrets"
	ScenarioV1Resources           Scenario = "resources that alb-ingress-controller v1 has created"
	ScenarioTagging               Scenario = "resources that the tagging API finds"
	ScenarioOtherAccounts         Scenario = "a target group of another account"
	// ScenarioDoctor is for the permission that only the command doctor uses. Its test is in internal/cli.
	ScenarioDoctor Scenario = "internal/cli TestDoctorSimulatesPolicies"
)

// The flags, fields and older resources that need additional permissions.
const (
	gateCertificates = "--feature-gates=EnableCertificateManagement=true"
	flagImports      = "--import-tls-secrets"
	gateTagging      = "--feature-gates=EnableRGTAPI=true"
	v1Resources      = "resources of alb-ingress-controller v1"
	fieldRole        = "spec.iamRoleArnToAssume of a TargetGroupBinding"
)

// DoctorCommand is the feature of a statement that only the user of the command doctor needs, not the controller.
const DoctorCommand = "fulcrum doctor"

// The conditions on the cluster tag of a request or of a resource, and on the cluster tag of alb-ingress-controller v1.
var (
	requestHasClusterTag   = Condition{"Null", "aws:RequestTag/" + clusterTag, []string{"false"}}
	requestLacksClusterTag = Condition{"Null", "aws:RequestTag/" + clusterTag, []string{"true"}}
	resourceHasClusterTag  = Condition{"Null", "aws:ResourceTag/" + clusterTag, []string{"false"}}
	resourceHasV1Tag       = Condition{"Null", "aws:ResourceTag/ingress.k8s.aws/cluster", []string{"false"}}
)

var (
	securityGroups               = []string{"ec2:*:*:security-group/*"}
	targetGroupsAndLoadBalancers = []string{
		"elasticloadbalancing:*:*:targetgroup/*/*",
		"elasticloadbalancing:*:*:loadbalancer/net/*/*",
		"elasticloadbalancing:*:*:loadbalancer/app/*/*",
	}
	listenersAndRules = []string{
		"elasticloadbalancing:*:*:listener/net/*/*/*",
		"elasticloadbalancing:*:*:listener/app/*/*/*",
		"elasticloadbalancing:*:*:listener-rule/net/*/*/*/*",
		"elasticloadbalancing:*:*:listener-rule/app/*/*/*/*",
	}
	targetGroups = targetGroupsAndLoadBalancers[:1]
)

// targetActions are the actions on targets of TargetGroupBindings, and on the security group rules that admit traffic to
// these targets.
var targetActions = []string{
	"ec2:AuthorizeSecurityGroupIngress",
	"ec2:DescribeInstances",
	"ec2:DescribeNetworkInterfaces",
	"ec2:DescribeSecurityGroups",
	"ec2:DescribeVpcs",
	"ec2:RevokeSecurityGroupIngress",
	"elasticloadbalancing:DeregisterTargets",
	"elasticloadbalancing:DescribeTargetGroups",
	"elasticloadbalancing:DescribeTargetHealth",
	"elasticloadbalancing:RegisterTargets",
}

// AWSStatements is the table of AWS permissions, except those for GlobalAccelerators. Statements without a feature come
// first.
var AWSStatements = []Statement{
	{
		Sid:        "ServiceLinkedRole",
		Conditions: []Condition{{"StringEquals", "iam:AWSServiceName", []string{"elasticloadbalancing.amazonaws.com"}}},
		Actions: []Action{
			{"iam:CreateServiceLinkedRole", "allow Elastic Load Balancing to create its service-linked role when an account gets its first load balancer", ScenarioIngress},
		},
	},
	{
		Sid: "Read",
		Actions: []Action{
			{"acm:DescribeCertificate", "read the names of certificates that have more names than ListCertificates returns, to find the certificates for a host; see whether something uses a certificate that is not needed any more", ScenarioCertificates},
			{"acm:ListCertificates", "find certificates for a host", ScenarioCertificates},
			{"acm:ListTagsForCertificate", "exclude certificates that were imported for another load balancer", ScenarioCertificates},
			{"ec2:DescribeAvailabilityZones", "choose subnets: one in each zone, and none in a zone that does not support the load balancer", ScenarioIngress},
			{"ec2:DescribeInstances", "find the security groups of nodes, which also apply to the pods on them", ScenarioNodes},
			{"ec2:DescribeNetworkInterfaces", "find the security groups of pods that have their own ENIs", ScenarioPodNetworks},
			{"ec2:DescribeRouteTables", "distinguish public and private subnets that have no role tag", ScenarioSubnets},
			{"ec2:DescribeSecurityGroups", "read the security groups of load balancers, nodes and pods", ScenarioIngress},
			{"ec2:DescribeSubnets", "choose subnets", ScenarioIngress},
			{"ec2:DescribeVpcs", "read the address ranges of the VPC", ScenarioSubnets},
			{"elasticloadbalancing:DescribeCapacityReservation", "compare reserved capacity", ScenarioCapacity},
			{"elasticloadbalancing:DescribeListenerAttributes", "compare attributes of listeners", ScenarioSettings},
			{"elasticloadbalancing:DescribeListenerCertificates", "compare certificates of listeners", ScenarioSettings},
			{"elasticloadbalancing:DescribeListeners", "compare listeners", ScenarioIngress},
			{"elasticloadbalancing:DescribeLoadBalancerAttributes", "compare attributes of load balancers", ScenarioSettings},
			{"elasticloadbalancing:DescribeLoadBalancers", "find and compare load balancers", ScenarioIngress},
			{"elasticloadbalancing:DescribeRules", "compare listener rules", ScenarioIngress},
			{"elasticloadbalancing:DescribeTags", "determine which resources belong to the cluster, and which object a resource belongs to", ScenarioIngress},
			{"elasticloadbalancing:DescribeTargetGroupAttributes", "compare attributes of target groups", ScenarioSettings},
			{"elasticloadbalancing:DescribeTargetGroups", "find and compare target groups", ScenarioIngress},
			{"elasticloadbalancing:DescribeTargetHealth", "compare targets, and show their health on pods", ScenarioIngress},
			{"elasticloadbalancing:DescribeTrustStores", "find trust stores by name", ScenarioTrustStores},
		},
	},
	{
		Sid: "AskedByElasticLoadBalancing",
		Actions: []Action{
			{"cognito-idp:DescribeUserPoolClient", "let Elastic Load Balancing check the client of a user pool", ScenarioCognito},
			{"ec2:DescribeAccountAttributes", "let Elastic Load Balancing see the account's network when a load balancer is created", ScenarioIngress},
			{"ec2:DescribeAddresses", "let Elastic Load Balancing find Elastic IP addresses", ScenarioElasticIPs},
			{"ec2:DescribeCoipPools", "let Elastic Load Balancing see customer-owned addresses", ScenarioAddressPools},
			{"ec2:DescribeInternetGateways", "let Elastic Load Balancing check that the VPC of an internet-facing load balancer has an internet gateway", ScenarioIngress},
			{"ec2:DescribeIpamPools", "let Elastic Load Balancing see IPAM pools", ScenarioAddressPools},
			{"ec2:DescribeVpcPeeringConnections", "let Elastic Load Balancing check whether IPv6 targets are in a peered VPC", ScenarioPeeredIPv6},
			{"ec2:GetCoipPoolUsage", "let Elastic Load Balancing see which customer-owned addresses are free", ScenarioAddressPools},
			{"ec2:GetSecurityGroupsForVpc", "let Elastic Load Balancing read the security groups of a load balancer", ScenarioIngress},
			{"elasticloadbalancing:SetWebAcl", "let WAF associate a web ACL with a load balancer", ScenarioWebACLs},
			{"iam:GetServerCertificate", "let Elastic Load Balancing use a certificate of IAM", ScenarioIAMCertificate},
			{"iam:ListServerCertificates", "let Elastic Load Balancing find a certificate of IAM", ScenarioIAMCertificate},
			{"waf-regional:GetWebACL", "let WAF Classic return the web ACL of a load balancer", ScenarioClassicWebACLs},
			{"wafv2:GetWebACL", "let WAF return the web ACL of a load balancer", ScenarioWebACLs},
		},
	},
	{
		Sid: "AddOns",
		Actions: []Action{
			{"shield:CreateProtection", "protect a load balancer with Shield Advanced", ScenarioProtection},
			{"shield:DeleteProtection", "remove the Shield Advanced protection of a load balancer", ScenarioProtection},
			{"shield:DescribeProtection", "read the Shield Advanced protection of a load balancer, to compare it with the desired state", ScenarioProtection},
			{"shield:GetSubscriptionState", "check whether the account has Shield Advanced", ScenarioProtection},
			{"waf-regional:AssociateWebACL", "associate a web ACL of WAF Classic with a load balancer", ScenarioClassicWebACLs},
			{"waf-regional:DisassociateWebACL", "disassociate a web ACL of WAF Classic from a load balancer", ScenarioClassicWebACLs},
			{"waf-regional:GetWebACLForResource", "read which WAF Classic web ACL a load balancer has, to compare it with the desired state", ScenarioClassicWebACLs},
			{"wafv2:AssociateWebACL", "associate a web ACL with a load balancer", ScenarioWebACLs},
			{"wafv2:DisassociateWebACL", "disassociate a web ACL from a load balancer", ScenarioWebACLs},
			{"wafv2:GetWebACLForResource", "read which web ACL a load balancer has, to compare it with the desired state", ScenarioWebACLs},
			{"wafv2:ListWebACLs", "find a web ACL by its name", ScenarioWebACLs},
		},
	},
	{
		Sid: "RulesOfNodesAndPods",
		Actions: []Action{
			{"ec2:AuthorizeSecurityGroupIngress", "admit traffic from clients to load balancers, and from load balancers to nodes and pods", ScenarioIngress},
			{"ec2:RevokeSecurityGroupIngress", "remove security group rules that are no longer needed", ScenarioIngress},
		},
	},
	{
		Sid: "CreateSecurityGroups",
		Actions: []Action{
			{"ec2:CreateSecurityGroup", "create the security groups of load balancers", ScenarioIngress},
		},
	},
	{
		Sid:        "TagNewSecurityGroups",
		Resources:  securityGroups,
		Conditions: []Condition{{"StringEquals", "ec2:CreateAction", []string{"CreateSecurityGroup"}}, requestHasClusterTag},
		Actions: []Action{
			{"ec2:CreateTags", "tag security groups when they are created", ScenarioIngress},
		},
	},
	{
		Sid:        "TagOwnSecurityGroups",
		Resources:  securityGroups,
		Conditions: []Condition{requestLacksClusterTag, resourceHasClusterTag},
		Actions: []Action{
			{"ec2:CreateTags", "change tags of security groups that the controller has created", ScenarioSettings},
			{"ec2:DeleteTags", "remove tags of security groups that the controller has created", ScenarioSettings},
		},
	},
	{
		Sid:        "DeleteOwnSecurityGroups",
		Conditions: []Condition{resourceHasClusterTag},
		Actions: []Action{
			{"ec2:DeleteSecurityGroup", "delete security groups that the controller has created", ScenarioIngress},
		},
	},
	{
		Sid:        "Create",
		Conditions: []Condition{requestHasClusterTag},
		Actions: []Action{
			{"elasticloadbalancing:CreateLoadBalancer", "create load balancers", ScenarioIngress},
			{"elasticloadbalancing:CreateTargetGroup", "create target groups", ScenarioIngress},
		},
	},
	{
		Sid:        "TagNew",
		Resources:  targetGroupsAndLoadBalancers,
		Conditions: []Condition{{"StringEquals", "elasticloadbalancing:CreateAction", []string{"CreateTargetGroup", "CreateLoadBalancer"}}, requestHasClusterTag},
		Actions: []Action{
			{"elasticloadbalancing:AddTags", "tag load balancers and target groups when they are created", ScenarioIngress},
		},
	},
	{
		Sid:        "TagOwn",
		Resources:  targetGroupsAndLoadBalancers,
		Conditions: []Condition{requestLacksClusterTag, resourceHasClusterTag},
		Actions: []Action{
			{"elasticloadbalancing:AddTags", "change tags of load balancers and target groups that the controller has created", ScenarioSettings},
			{"elasticloadbalancing:RemoveTags", "remove tags of load balancers and target groups that the controller has created", ScenarioSettings},
		},
	},
	{
		Sid:       "TagListenersAndRules",
		Resources: listenersAndRules,
		Actions: []Action{
			{"elasticloadbalancing:AddTags", "tag listeners and rules", ScenarioIngress},
			{"elasticloadbalancing:RemoveTags", "remove tags of listeners and rules", ScenarioSettings},
		},
	},
	{
		Sid: "ListenersAndRules",
		Actions: []Action{
			{"elasticloadbalancing:AddListenerCertificates", "add certificates to listeners", ScenarioSettings},
			{"elasticloadbalancing:CreateListener", "create listeners", ScenarioIngress},
			{"elasticloadbalancing:CreateRule", "create listener rules", ScenarioIngress},
			{"elasticloadbalancing:DeleteListener", "delete listeners", ScenarioIngress},
			{"elasticloadbalancing:DeleteRule", "delete listener rules", ScenarioIngress},
			{"elasticloadbalancing:ModifyListener", "change listeners", ScenarioSettings},
			{"elasticloadbalancing:ModifyRule", "change listener rules", ScenarioIngress},
			{"elasticloadbalancing:RemoveListenerCertificates", "remove certificates from listeners", ScenarioSettings},
			{"elasticloadbalancing:SetRulePriorities", "order listener rules", ScenarioIngress},
		},
	},
	{
		Sid:        "ChangeOwn",
		Conditions: []Condition{resourceHasClusterTag},
		Actions: []Action{
			{"elasticloadbalancing:DeleteLoadBalancer", "delete load balancers that the controller has created", ScenarioIngress},
			{"elasticloadbalancing:DeleteTargetGroup", "delete target groups that the controller has created", ScenarioIngress},
			{"elasticloadbalancing:ModifyCapacityReservation", "change the capacity reservation of a load balancer", ScenarioCapacity},
			{"elasticloadbalancing:ModifyIpPools", "change IPAM pools", ScenarioAddressPools},
			{"elasticloadbalancing:ModifyListenerAttributes", "change attributes of listeners", ScenarioSettings},
			{"elasticloadbalancing:ModifyLoadBalancerAttributes", "change attributes of load balancers", ScenarioSettings},
			{"elasticloadbalancing:ModifyTargetGroup", "change health checks", ScenarioSettings},
			{"elasticloadbalancing:ModifyTargetGroupAttributes", "change attributes of target groups", ScenarioSettings},
			{"elasticloadbalancing:SetIpAddressType", "change the address type of a load balancer", ScenarioSubnets},
			{"elasticloadbalancing:SetSecurityGroups", "change the security groups of a load balancer", ScenarioSettings},
			{"elasticloadbalancing:SetSubnets", "change the subnets of a load balancer", ScenarioSubnets},
		},
	},
	{
		Sid:       "Targets",
		Resources: targetGroups,
		Actions: []Action{
			{"elasticloadbalancing:DeregisterTargets", "deregister targets from target groups", ScenarioIngress},
			{"elasticloadbalancing:RegisterTargets", "register targets in target groups", ScenarioIngress},
		},
	},

	{
		Sid: "WithEnableCertificateManagement", Feature: gateCertificates,
		Actions: []Action{
			{"acm:AddTagsToCertificate", "tag certificates when they are requested", ScenarioRequestedCertificates},
			{"route53:ChangeResourceRecordSets", "create and remove the DNS records that validate certificates", ScenarioRequestedCertificates},
			{"route53:ListHostedZones", "find the hosted zone of a host", ScenarioRequestedCertificates},
		},
	},
	{
		Sid: "RequestWithEnableCertificateManagement", Feature: gateCertificates, Conditions: []Condition{requestHasClusterTag},
		Actions: []Action{{"acm:RequestCertificate", "request certificates", ScenarioRequestedCertificates}},
	},
	{
		Sid: "DeleteWithEnableCertificateManagement", Feature: gateCertificates, Conditions: []Condition{resourceHasClusterTag},
		Actions: []Action{{"acm:DeleteCertificate", "delete requested certificates that are no longer used", ScenarioRequestedCertificates}},
	},
	{
		// ACM requests end-entity certificates from a private CA, never certificates of another CA.
		Sid: "IssueWithEnableCertificateManagement", Feature: gateCertificates,
		Conditions: []Condition{{"StringLike", "acm-pca:TemplateArn", []string{"arn:*:acm-pca:::template/EndEntityCertificate/V*"}}},
		Actions:    []Action{{"acm-pca:IssueCertificate", "allow ACM to issue requested certificates with a private CA", ScenarioPrivateCA}},
	},
	{
		Sid: "PrivateCAWithEnableCertificateManagement", Feature: gateCertificates,
		Actions: []Action{
			{"acm-pca:GetCertificate", "let ACM fetch the certificates that a private CA has issued", ScenarioPrivateCA},
			{"acm-pca:ListPermissions", "let ACM check whether it may renew certificates of a private CA", ScenarioPrivateCA},
		},
	},
	{
		Sid: "ImportWithImportTLSSecrets", Feature: flagImports, Conditions: []Condition{requestHasClusterTag},
		Actions: []Action{
			{"acm:AddTagsToCertificate", "tag certificates when they are imported", ScenarioImports},
			{"acm:ImportCertificate", "import the certificate of a Secret", ScenarioImports},
		},
	},
	{
		Sid: "RenewAndDeleteWithImportTLSSecrets", Feature: flagImports, Conditions: []Condition{resourceHasClusterTag},
		Actions: []Action{
			{"acm:DeleteCertificate", "delete an imported certificate that is no longer used", ScenarioImports},
			{"acm:GetCertificate", "compare an imported certificate with its Secret", ScenarioImports},
			{"acm:ImportCertificate", "import a renewed certificate under the same ARN", ScenarioImports},
		},
	},
	{
		Sid: "TagSecurityGroupsOfV1", Feature: v1Resources, Conditions: []Condition{resourceHasV1Tag},
		Actions: []Action{{"ec2:CreateTags", "add the tag of the cluster to security groups that are taken over", ScenarioV1Resources}},
	},
	{
		Sid: "TagAndDeleteOfV1", Feature: v1Resources, Conditions: []Condition{resourceHasV1Tag},
		Actions: []Action{
			{"elasticloadbalancing:AddTags", "add the tag of the cluster to load balancers and target groups that are taken over", ScenarioV1Resources},
			{"elasticloadbalancing:DeleteTargetGroup", "delete target groups that no object uses", ScenarioV1Resources},
		},
	},
	{
		Sid: "WithEnableRGTAPI", Feature: gateTagging,
		Actions: []Action{{"tag:GetResources", "find the resources of the cluster by their tags", ScenarioTagging}},
	},
	{
		Sid: "WithRolesOfOtherAccounts", Feature: fieldRole,
		Actions: []Action{{"sts:AssumeRole", "manage targets in target groups of another account", ScenarioOtherAccounts}},
	},
	{
		Sid: "WithDoctor", Feature: DoctorCommand,
		Actions: []Action{{"iam:SimulatePrincipalPolicy", "check permissions that can only be tested by a change; the user of the command needs it, not the controller", ScenarioDoctor}},
	},
}
