package authz

import (
	"maps"
	"net/netip"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// dependentActions returns the permissions that a call needs in addition to the permission for its action, because the
// service performs further actions with the caller's permissions. For example, Elastic Load Balancing reads the caller's
// VPC. AWS does not document all of these permissions. The sources are:
//
//   - CreateLoadBalancer needs ec2:DescribeAccountAttributes, ec2:DescribeInternetGateways and the permission to create
//     the service-linked role: terraform-aws-modules/terraform-aws-eks#900, pulumi/pulumi-eks#576
//   - CreateLoadBalancer needs ec2:GetSecurityGroupsForVpc: automat-it/terraform-aws-eks-auxiliary#54
//   - RegisterTargets with IPv6 addresses needs ec2:DescribeVpcPeeringConnections:
//     terraform-aws-modules/terraform-aws-iam#425
//   - permissions for web ACLs, and for the tags of created resources: the column "Dependent actions" of the Service
//     Authorization Reference
//
// The permissions for address pools, IAM server certificates, private CAs and user pools are assumptions.
func (c call) dependentActions(tags map[string]string) []iam.Request {
	switch c.Service + ":" + c.Operation {
	case "ec2:CreateSecurityGroup":
		return c.tagPermission("ec2:CreateTags", tags, c.newSecurityGroupARN())
	case "elasticloadbalancing:CreateLoadBalancer":
		return append(c.tagPermission("elasticloadbalancing:AddTags", tags, c.newLoadBalancerARN()), c.networkPermissions()...)
	case "elasticloadbalancing:CreateTargetGroup":
		return c.tagPermission("elasticloadbalancing:AddTags", tags, c.newTargetGroupARN())
	case "elasticloadbalancing:CreateListener":
		return append(c.tagPermission("elasticloadbalancing:AddTags", tags, newChildARN(c.stringMember("LoadBalancerArn"), "listener", "loadbalancer")), c.certificateAndActionPermissions()...)
	case "elasticloadbalancing:CreateRule":
		return append(c.tagPermission("elasticloadbalancing:AddTags", tags, newChildARN(c.stringMember("ListenerArn"), "listener-rule", "listener")), c.certificateAndActionPermissions()...)
	case "elasticloadbalancing:ModifyListener", "elasticloadbalancing:ModifyRule", "elasticloadbalancing:AddListenerCertificates":
		return c.certificateAndActionPermissions()
	case "elasticloadbalancing:SetSecurityGroups", "elasticloadbalancing:ModifyIpPools":
		return c.securityGroupAndPoolPermissions()
	case "elasticloadbalancing:RegisterTargets":
		return c.peeringPermissions()
	case "globalaccelerator:CreateAccelerator":
		return append(c.tagPermission("globalaccelerator:TagResource", tags, c.newAcceleratorARN()), c.serviceLinkedRolePermission(store.LinkedServiceAccelerator, "AWSServiceRoleForGlobalAccelerator")...)
	case "globalaccelerator:AddEndpoints":
		// The API reference of AddEndpoints documents that the call also needs globalaccelerator:UpdateEndpointGroup.
		arn := c.stringMember("EndpointGroupArn")
		return []iam.Request{{Action: "globalaccelerator:UpdateEndpointGroup", Resource: arn, Keys: c.conditionKeys(arn)}}
	case "acm:RequestCertificate", "acm:ImportCertificate":
		return append(c.tagPermission("acm:AddTagsToCertificate", tags, c.arn("acm", "certificate/"+placeholderID)), c.privateCAPermissions()...)
	case "wafv2:AssociateWebACL", "wafv2:DisassociateWebACL", "waf-regional:AssociateWebACL", "waf-regional:DisassociateWebACL":
		return []iam.Request{{Action: "elasticloadbalancing:SetWebAcl", Resource: c.stringMember("ResourceArn")}}
	case "wafv2:GetWebACLForResource", "waf-regional:GetWebACLForResource":
		return c.webACLPermission()
	}
	return nil
}

// tagPermission returns the permission to tag the resource that a call creates, or nil if the call has no tags.
func (c call) tagPermission(action string, tags map[string]string, arn string) []iam.Request {
	if len(tags) == 0 {
		return nil
	}
	keys := map[string]string{"aws:RequestedRegion": c.Region, ActionPrefix(c.Service) + ":CreateAction": c.Operation}
	maps.Copy(keys, tags)
	return []iam.Request{{Action: action, Resource: arn, Keys: keys}}
}

// networkPermissions returns the permissions that CreateLoadBalancer needs to read the account and the network of the load
// balancer, and to create the service-linked role.
func (c call) networkPermissions() []iam.Request {
	out := []iam.Request{{Action: "ec2:DescribeAccountAttributes"}}
	out = append(out, c.serviceLinkedRolePermission(store.LinkedServiceELB, "AWSServiceRoleForElasticLoadBalancing")...)
	if c.stringMember("Scheme") != "internal" {
		out = append(out, iam.Request{Action: "ec2:DescribeInternetGateways"})
	}
	for _, m := range c.structureListMember("SubnetMappings") {
		if m.hasMember("AllocationId") {
			out = append(out, iam.Request{Action: "ec2:DescribeAddresses"})
			break
		}
	}
	return append(out, c.securityGroupAndPoolPermissions()...)
}

// serviceLinkedRolePermission returns the permission to create the service-linked role of a service, or nil if the account
// has the role.
func (c call) serviceLinkedRolePermission(service, role string) []iam.Request {
	if c.Partition.Store().HasServiceLinkedRole(c.Account, service) {
		return nil
	}
	host := service + ".amazonaws.com"
	return []iam.Request{{
		Action: "iam:CreateServiceLinkedRole", Resource: c.globalARN("iam", c.Account, "role/aws-service-role/"+host+"/"+role),
		Keys: map[string]string{"iam:AWSServiceName": host},
	}}
}

// securityGroupAndPoolPermissions returns the permissions to read the security groups and the address pools that the call
// sets.
func (c call) securityGroupAndPoolPermissions() []iam.Request {
	var out []iam.Request
	if c.hasMember("SecurityGroups") {
		out = append(out, iam.Request{Action: "ec2:GetSecurityGroupsForVpc"})
	}
	if c.hasMember("CustomerOwnedIpv4Pool") {
		out = append(out, iam.Request{Action: "ec2:DescribeCoipPools"}, iam.Request{Action: "ec2:GetCoipPoolUsage"})
	}
	if c.hasMember("IpamPools") {
		out = append(out, iam.Request{Action: "ec2:DescribeIpamPools"})
	}
	return out
}

// certificateAndActionPermissions returns the permissions that the certificates and the default actions or actions of a
// listener or rule need.
func (c call) certificateAndActionPermissions() []iam.Request {
	var out []iam.Request
	for _, x := range c.structureListMember("Certificates") {
		if arn := x.stringMember("CertificateArn"); strings.Contains(arn, ":iam:") {
			out = append(out, iam.Request{Action: "iam:GetServerCertificate", Resource: arn}, iam.Request{Action: "iam:ListServerCertificates"})
		}
	}
	list := c.structureListMember("Actions")
	if c.hasMember("DefaultActions") {
		list = c.structureListMember("DefaultActions")
	}
	for _, a := range list {
		if !a.hasMember("AuthenticateCognitoConfig") {
			continue
		}
		pool := call{c.Call, a.input.FieldByName("AuthenticateCognitoConfig").Elem()}.stringMember("UserPoolArn")
		out = append(out, iam.Request{Action: "cognito-idp:DescribeUserPoolClient", Resource: pool})
	}
	return out
}

// privateCAPermissions returns the permissions to issue a certificate of a private CA, or nil if the call names no private
// CA.
func (c call) privateCAPermissions() []iam.Request {
	ca := c.stringMember("CertificateAuthorityArn")
	if ca == "" {
		return nil
	}
	template := "arn:" + c.Partition.AWSPartition().Name + ":acm-pca:::template/EndEntityCertificate/V1"
	return []iam.Request{
		{Action: "acm-pca:IssueCertificate", Resource: ca, Keys: map[string]string{"acm-pca:TemplateArn": template}},
		{Action: "acm-pca:GetCertificate", Resource: ca}, {Action: "acm-pca:ListPermissions", Resource: ca},
	}
}

// peeringPermissions returns the permission that RegisterTargets needs for IPv6 addresses, because they may be in a peered
// VPC.
func (c call) peeringPermissions() []iam.Request {
	for _, t := range c.structureListMember("Targets") {
		if a, err := netip.ParseAddr(t.stringMember("Id")); err == nil && a.Is6() {
			return []iam.Request{{Action: "ec2:DescribeVpcPeeringConnections"}}
		}
	}
	return nil
}

// webACLPermission returns the permission to read the web ACL of a load balancer, or nil if the load balancer has none.
func (c call) webACLPermission() []iam.Request {
	arn := c.stringMember("ResourceArn")
	if c.Service == "wafv2" {
		if acl := c.Partition.WAFv2.Associations[arn]; acl != "" {
			return []iam.Request{{Action: "wafv2:GetWebACL", Resource: acl}}
		}
		return nil
	}
	if id := c.Partition.WAFRegional.Associations[arn]; id != "" {
		return []iam.Request{{Action: "waf-regional:GetWebACL", Resource: c.arn("waf-regional", "webacl/"+id)}}
	}
	return nil
}
