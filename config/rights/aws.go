package rights

// The scenarios in which the permissions in AWS are used.
const (
	Ingress         Scenario = "an Ingress from its creation to its deletion"
	Settings        Scenario = "an Ingress whose settings change"
	Nodes           Scenario = "targets that are nodes"
	PodNetworks     Scenario = "targets that are pods with their own ENIs"
	Networks        Scenario = "subnets without tags, and address types"
	Addresses       Scenario = "a Service with Elastic IP addresses"
	PeeredIPv6      Scenario = "targets with IPv6 addresses"
	Pools           Scenario = "pools of addresses"
	Cognito         Scenario = "authentication by Cognito"
	IAMCertificate  Scenario = "a certificate of IAM"
	Certificates    Scenario = "certificates that are found by host"
	TrustStores     Scenario = "client certificates"
	Capacity        Scenario = "reserved capacity"
	WebACLs         Scenario = "a web ACL"
	ClassicWebACLs  Scenario = "a web ACL of WAF Classic"
	Protection      Scenario = "Shield Advanced"
	OwnCertificates Scenario = "certificates that the controller requests"
	PrivateCA       Scenario = "certificates that a private CA issues"
	Imports         Scenario = "TLS Secrets"
	FirstGeneration Scenario = "resources that alb-ingress-controller v1 has created"
	Tagging         Scenario = "resources that the tagging API finds"
	OtherAccounts   Scenario = "a target group of another account"
	// Checks is the scenario of the permissions that only a command of the CLI uses. Its test is in internal/cli.
	Checks Scenario = "internal/cli TestDoctorSimulatesPolicies"
)

// The features that need further permissions.
const (
	gateCertificates = "--feature-gates=EnableCertificateManagement=true"
	flagImports      = "--import-tls-secrets"
	gateTagging      = "--feature-gates=EnableRGTAPI=true"
	v1Resources      = "resources of alb-ingress-controller v1"
	fieldRole        = "spec.iamRoleArnToAssume of a TargetGroupBinding"
)

// Doctor is the CLI command with a separate statement. The controller does not need the statement.
const Doctor = "fulcrum doctor"

// The conditions on the tag of the cluster.
var (
	requested    = Condition{"Null", "aws:RequestTag/" + clusterTag, []string{"false"}}
	notRequested = Condition{"Null", "aws:RequestTag/" + clusterTag, []string{"true"}}
	own          = Condition{"Null", "aws:ResourceTag/" + clusterTag, []string{"false"}}
	ownedByV1    = Condition{"Null", "aws:ResourceTag/ingress.k8s.aws/cluster", []string{"false"}}
)

var (
	securityGroups = []string{"ec2:*:*:security-group/*"}
	balancers      = []string{
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
	targetGroups = balancers[:1]
)

// forTargets are the actions for targets of TargetGroupBindings and for the security group rules that admit traffic to
// these targets.
var forTargets = []string{
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

// AWS is the table of permissions in AWS.
var AWS = []Statement{
	{
		Sid:       "ServiceLinkedRole",
		Condition: []Condition{{"StringEquals", "iam:AWSServiceName", []string{"elasticloadbalancing.amazonaws.com"}}},
		Actions: []Action{
			{"iam:CreateServiceLinkedRole", "allow Elastic Load Balancing to create its service-linked role when an account gets its first load balancer", Ingress},
		},
	},
	{
		Sid: "Read",
		Actions: []Action{
			{"acm:DescribeCertificate", "read the names of certificates that have more names than ListCertificates returns, to find the certificates for a host", Certificates},
			{"acm:ListCertificates", "find certificates for a host", Certificates},
			{"acm:ListTagsForCertificate", "exclude certificates that were imported for another load balancer", Certificates},
			{"ec2:DescribeAvailabilityZones", "choose subnets: one in each zone, and none in a zone that does not support the load balancer", Ingress},
			{"ec2:DescribeInstances", "find the security groups of nodes, which also apply to the pods on them", Nodes},
			{"ec2:DescribeNetworkInterfaces", "find the security groups of pods that have their own ENIs", PodNetworks},
			{"ec2:DescribeRouteTables", "distinguish public and private subnets that have no role tag", Networks},
			{"ec2:DescribeSecurityGroups", "read the security groups of load balancers, nodes and pods", Ingress},
			{"ec2:DescribeSubnets", "choose subnets", Ingress},
			{"ec2:DescribeVpcs", "read the address ranges of the VPC", Networks},
			{"elasticloadbalancing:DescribeCapacityReservation", "compare reserved capacity", Capacity},
			{"elasticloadbalancing:DescribeListenerAttributes", "compare attributes of listeners", Settings},
			{"elasticloadbalancing:DescribeListenerCertificates", "compare certificates of listeners", Settings},
			{"elasticloadbalancing:DescribeListeners", "compare listeners", Ingress},
			{"elasticloadbalancing:DescribeLoadBalancerAttributes", "compare attributes of load balancers", Settings},
			{"elasticloadbalancing:DescribeLoadBalancers", "find and compare load balancers", Ingress},
			{"elasticloadbalancing:DescribeRules", "compare listener rules", Ingress},
			{"elasticloadbalancing:DescribeTags", "determine which resources belong to the cluster, and which object a resource belongs to", Ingress},
			{"elasticloadbalancing:DescribeTargetGroupAttributes", "compare attributes of target groups", Settings},
			{"elasticloadbalancing:DescribeTargetGroups", "find and compare target groups", Ingress},
			{"elasticloadbalancing:DescribeTargetHealth", "compare targets, and show their health on pods", Ingress},
			{"elasticloadbalancing:DescribeTrustStores", "find trust stores by name", TrustStores},
		},
	},
	{
		Sid: "AskedByElasticLoadBalancing",
		Actions: []Action{
			{"cognito-idp:DescribeUserPoolClient", "let Elastic Load Balancing check the client of a user pool", Cognito},
			{"ec2:DescribeAccountAttributes", "let Elastic Load Balancing see the account's network when a load balancer is created", Ingress},
			{"ec2:DescribeAddresses", "let Elastic Load Balancing find Elastic IP addresses", Addresses},
			{"ec2:DescribeCoipPools", "let Elastic Load Balancing see customer-owned addresses", Pools},
			{"ec2:DescribeInternetGateways", "let Elastic Load Balancing check that the VPC of an internet-facing load balancer has an internet gateway", Ingress},
			{"ec2:DescribeIpamPools", "let Elastic Load Balancing see IPAM pools", Pools},
			{"ec2:DescribeVpcPeeringConnections", "let Elastic Load Balancing check whether IPv6 targets are in a peered VPC", PeeredIPv6},
			{"ec2:GetCoipPoolUsage", "let Elastic Load Balancing see which customer-owned addresses are free", Pools},
			{"ec2:GetSecurityGroupsForVpc", "let Elastic Load Balancing read the security groups of a load balancer", Ingress},
			{"elasticloadbalancing:SetWebAcl", "let WAF associate a web ACL with a load balancer", WebACLs},
			{"iam:GetServerCertificate", "let Elastic Load Balancing use a certificate of IAM", IAMCertificate},
			{"iam:ListServerCertificates", "let Elastic Load Balancing find a certificate of IAM", IAMCertificate},
			{"waf-regional:GetWebACL", "let WAF Classic return the web ACL of a load balancer", ClassicWebACLs},
			{"wafv2:GetWebACL", "let WAF return the web ACL of a load balancer", WebACLs},
		},
	},
	{
		Sid: "AddOns",
		Actions: []Action{
			{"shield:CreateProtection", "protect a load balancer with Shield Advanced", Protection},
			{"shield:DeleteProtection", "remove the Shield Advanced protection of a load balancer", Protection},
			{"shield:DescribeProtection", "read the Shield Advanced protection of a load balancer, to compare it with the desired state", Protection},
			{"shield:GetSubscriptionState", "check whether the account has Shield Advanced", Protection},
			{"waf-regional:AssociateWebACL", "associate a web ACL of WAF Classic with a load balancer", ClassicWebACLs},
			{"waf-regional:DisassociateWebACL", "disassociate a web ACL of WAF Classic from a load balancer", ClassicWebACLs},
			{"waf-regional:GetWebACLForResource", "read which WAF Classic web ACL a load balancer has, to compare it with the desired state", ClassicWebACLs},
			{"wafv2:AssociateWebACL", "associate a web ACL with a load balancer", WebACLs},
			{"wafv2:DisassociateWebACL", "disassociate a web ACL from a load balancer", WebACLs},
			{"wafv2:GetWebACLForResource", "read which web ACL a load balancer has, to compare it with the desired state", WebACLs},
			{"wafv2:ListWebACLs", "find a web ACL by its name", WebACLs},
		},
	},
	{
		Sid: "RulesOfNodesAndPods",
		Actions: []Action{
			{"ec2:AuthorizeSecurityGroupIngress", "admit traffic from clients to load balancers, and from load balancers to nodes and pods", Ingress},
			{"ec2:RevokeSecurityGroupIngress", "remove security group rules that are no longer needed", Ingress},
		},
	},
	{
		Sid: "CreateSecurityGroups",
		Actions: []Action{
			{"ec2:CreateSecurityGroup", "create the security groups of load balancers", Ingress},
		},
	},
	{
		Sid:       "TagNewSecurityGroups",
		Resources: securityGroups,
		Condition: []Condition{{"StringEquals", "ec2:CreateAction", []string{"CreateSecurityGroup"}}, requested},
		Actions: []Action{
			{"ec2:CreateTags", "tag security groups when they are created", Ingress},
		},
	},
	{
		Sid:       "TagOwnSecurityGroups",
		Resources: securityGroups,
		Condition: []Condition{notRequested, own},
		Actions: []Action{
			{"ec2:CreateTags", "change tags of security groups that the controller has created", Settings},
			{"ec2:DeleteTags", "remove tags of security groups that the controller has created", Settings},
		},
	},
	{
		Sid:       "DeleteOwnSecurityGroups",
		Condition: []Condition{own},
		Actions: []Action{
			{"ec2:DeleteSecurityGroup", "delete security groups that the controller has created", Ingress},
		},
	},
	{
		Sid:       "Create",
		Condition: []Condition{requested},
		Actions: []Action{
			{"elasticloadbalancing:CreateLoadBalancer", "make load balancers", Ingress},
			{"elasticloadbalancing:CreateTargetGroup", "make target groups", Ingress},
		},
	},
	{
		Sid:       "TagNew",
		Resources: balancers,
		Condition: []Condition{{"StringEquals", "elasticloadbalancing:CreateAction", []string{"CreateTargetGroup", "CreateLoadBalancer"}}, requested},
		Actions: []Action{
			{"elasticloadbalancing:AddTags", "tag load balancers and target groups when they are created", Ingress},
		},
	},
	{
		Sid:       "TagOwn",
		Resources: balancers,
		Condition: []Condition{notRequested, own},
		Actions: []Action{
			{"elasticloadbalancing:AddTags", "change tags of load balancers and target groups that the controller has created", Settings},
			{"elasticloadbalancing:RemoveTags", "remove tags of load balancers and target groups that the controller has created", Settings},
		},
	},
	{
		Sid:       "TagListenersAndRules",
		Resources: listenersAndRules,
		Actions: []Action{
			{"elasticloadbalancing:AddTags", "tag listeners and rules", Ingress},
			{"elasticloadbalancing:RemoveTags", "remove tags of listeners and rules", Settings},
		},
	},
	{
		Sid: "ListenersAndRules",
		Actions: []Action{
			{"elasticloadbalancing:AddListenerCertificates", "add certificates to listeners", Settings},
			{"elasticloadbalancing:CreateListener", "make listeners", Ingress},
			{"elasticloadbalancing:CreateRule", "make listener rules", Ingress},
			{"elasticloadbalancing:DeleteListener", "delete listeners", Ingress},
			{"elasticloadbalancing:DeleteRule", "delete listener rules", Ingress},
			{"elasticloadbalancing:ModifyListener", "change listeners", Settings},
			{"elasticloadbalancing:ModifyRule", "change listener rules", Ingress},
			{"elasticloadbalancing:RemoveListenerCertificates", "remove certificates from listeners", Settings},
			{"elasticloadbalancing:SetRulePriorities", "order listener rules", Ingress},
		},
	},
	{
		Sid:       "ChangeOwn",
		Condition: []Condition{own},
		Actions: []Action{
			{"elasticloadbalancing:DeleteLoadBalancer", "delete load balancers that the controller has created", Ingress},
			{"elasticloadbalancing:DeleteTargetGroup", "delete target groups that the controller has created", Ingress},
			{"elasticloadbalancing:ModifyCapacityReservation", "reserve capacity", Capacity},
			{"elasticloadbalancing:ModifyIpPools", "change IPAM pools", Pools},
			{"elasticloadbalancing:ModifyListenerAttributes", "change attributes of listeners", Settings},
			{"elasticloadbalancing:ModifyLoadBalancerAttributes", "change attributes of load balancers", Settings},
			{"elasticloadbalancing:ModifyTargetGroup", "change health checks", Settings},
			{"elasticloadbalancing:ModifyTargetGroupAttributes", "change attributes of target groups", Settings},
			{"elasticloadbalancing:SetIpAddressType", "change the address type of a load balancer", Networks},
			{"elasticloadbalancing:SetSecurityGroups", "change the security groups of a load balancer", Settings},
			{"elasticloadbalancing:SetSubnets", "change the subnets of a load balancer", Networks},
		},
	},
	{
		Sid:       "Targets",
		Resources: targetGroups,
		Actions: []Action{
			{"elasticloadbalancing:DeregisterTargets", "deregister targets from target groups", Ingress},
			{"elasticloadbalancing:RegisterTargets", "register targets in target groups", Ingress},
		},
	},

	{
		Sid: "WithEnableCertificateManagement", Feature: gateCertificates,
		Actions: []Action{
			{"acm:AddTagsToCertificate", "tag certificates when they are requested", OwnCertificates},
			{"route53:ChangeResourceRecordSets", "create and remove the DNS records that validate certificates", OwnCertificates},
			{"route53:ListHostedZones", "find the hosted zone of a host", OwnCertificates},
		},
	},
	{
		Sid: "RequestWithEnableCertificateManagement", Feature: gateCertificates, Condition: []Condition{requested},
		Actions: []Action{{"acm:RequestCertificate", "request certificates", OwnCertificates}},
	},
	{
		Sid: "DeleteWithEnableCertificateManagement", Feature: gateCertificates, Condition: []Condition{own},
		Actions: []Action{{"acm:DeleteCertificate", "delete requested certificates that are no longer used", OwnCertificates}},
	},
	{
		// ACM requests end-entity certificates from a private CA, never certificates of another CA.
		Sid: "IssueWithEnableCertificateManagement", Feature: gateCertificates,
		Condition: []Condition{{"StringLike", "acm-pca:TemplateArn", []string{"arn:*:acm-pca:::template/EndEntityCertificate/V*"}}},
		Actions:   []Action{{"acm-pca:IssueCertificate", "allow ACM to issue requested certificates with a private CA", PrivateCA}},
	},
	{
		Sid: "PrivateCAWithEnableCertificateManagement", Feature: gateCertificates,
		Actions: []Action{
			{"acm-pca:GetCertificate", "let ACM fetch the certificates that a private CA has issued", PrivateCA},
			{"acm-pca:ListPermissions", "let ACM check whether it may renew certificates of a private CA", PrivateCA},
		},
	},
	{
		Sid: "ImportWithImportTLSSecrets", Feature: flagImports, Condition: []Condition{requested},
		Actions: []Action{
			{"acm:AddTagsToCertificate", "tag certificates when they are imported", Imports},
			{"acm:ImportCertificate", "import the certificate of a Secret", Imports},
		},
	},
	{
		Sid: "RenewAndDeleteWithImportTLSSecrets", Feature: flagImports, Condition: []Condition{own},
		Actions: []Action{
			{"acm:DeleteCertificate", "delete an imported certificate that is no longer used", Imports},
			{"acm:GetCertificate", "compare an imported certificate with its Secret", Imports},
			{"acm:ImportCertificate", "import a renewed certificate under the same ARN", Imports},
		},
	},
	{
		Sid: "TagSecurityGroupsOfV1", Feature: v1Resources, Condition: []Condition{ownedByV1},
		Actions: []Action{{"ec2:CreateTags", "add the tag of the cluster to security groups that are taken over", FirstGeneration}},
	},
	{
		Sid: "TagAndDeleteOfV1", Feature: v1Resources, Condition: []Condition{ownedByV1},
		Actions: []Action{
			{"elasticloadbalancing:AddTags", "add the tag of the cluster to load balancers and target groups that are taken over", FirstGeneration},
			{"elasticloadbalancing:DeleteTargetGroup", "delete target groups that no object uses", FirstGeneration},
		},
	},
	{
		Sid: "WithEnableRGTAPI", Feature: gateTagging,
		Actions: []Action{{"tag:GetResources", "find the resources of the cluster by their tags", Tagging}},
	},
	{
		Sid: "WithRolesOfOtherAccounts", Feature: fieldRole,
		Actions: []Action{{"sts:AssumeRole", "manage targets in target groups of another account", OtherAccounts}},
	},
	{
		Sid: "WithDoctor", Feature: Doctor,
		Actions: []Action{{"iam:SimulatePrincipalPolicy", "check permissions that can only be tested by a change; the user of the command needs it, not the controller", Checks}},
	},
}
