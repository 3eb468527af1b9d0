package compare

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/recording"
)

// createNetwork creates the network in which the calls were recorded: VPC, subnets, security groups and instances. It does
// nothing if the recording has no VPC.
func (p *player) createNetwork(ctx context.Context, r *recording.Recording) error {
	if r.Site.VPC == "" || len(r.Site.CIDRs) == 0 {
		return nil
	}
	api := ec2.NewFromConfig(aws.Config{Region: r.Region, HTTPClient: p.em.Client(), Credentials: credentials.NewStaticCredentialsProvider("COMPARE", "-", "")})
	vpc, err := api.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: &r.Site.CIDRs[0]})
	if err != nil {
		return err
	}
	id := vpc.Vpc.VpcId
	p.ids[r.Site.VPC] = *id
	for _, more := range r.Site.CIDRs[1:] {
		if _, err := api.AssociateVpcCidrBlock(ctx, &ec2.AssociateVpcCidrBlockInput{VpcId: id, CidrBlock: &more}); err != nil {
			return err
		}
	}
	gateway, err := api.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})
	if err != nil {
		return err
	}
	if _, err := api.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: gateway.InternetGateway.InternetGatewayId, VpcId: id}); err != nil {
		return err
	}
	table, err := api.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: id})
	if err != nil {
		return err
	}
	route := table.RouteTable.RouteTableId
	if _, err := api.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: route, DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: gateway.InternetGateway.InternetGatewayId}); err != nil {
		return err
	}
	for _, s := range r.Site.Subnets {
		made, err := api.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: id, CidrBlock: aws.String(s.CIDR), AvailabilityZone: aws.String(s.Zone)})
		if err != nil {
			return err
		}
		p.ids[s.ID] = *made.Subnet.SubnetId
		if !s.Public {
			continue
		}
		if _, err := api.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: route, SubnetId: made.Subnet.SubnetId}); err != nil {
			return err
		}
	}
	return p.createInstances(ctx, api, id, r.Site.Instances)
}

func (p *player) createInstances(ctx context.Context, api *ec2.Client, vpc *string, list []recording.Instance) error {
	images, err := api.DescribeImages(ctx, &ec2.DescribeImagesInput{})
	if err != nil {
		return err
	}
	for _, i := range list {
		var groups []string
		for _, g := range i.SecurityGroups {
			if p.ids[g] == "" {
				made, err := api.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("recorded " + g), Description: aws.String("nodes"), VpcId: vpc})
				if err != nil {
					return err
				}
				p.ids[g] = *made.GroupId
			}
			groups = append(groups, p.ids[g])
		}
		made, err := api.RunInstances(ctx, &ec2.RunInstancesInput{
			ImageId: images.Images[0].ImageId, InstanceType: types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
			SubnetId: aws.String(p.ids[i.Subnet]), SecurityGroupIds: groups,
		})
		if err != nil {
			return err
		}
		p.ids[i.ID] = *made.Instances[0].InstanceId
	}
	return nil
}

// withNewCertificate returns the body of an ImportCertificate request with a new certificate for the same names, because
// recordings do not contain the private key. known replaces recorded IDs in a text with IDs of the emulator.
func withNewCertificate(body string, known func(string) string) (string, error) {
	var in map[string]any
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		return "", err
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "recorded"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	if text, ok := in["Certificate"].(string); ok {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			if block, _ := pem.Decode(raw); block != nil {
				if c, err := x509.ParseCertificate(block.Bytes); err == nil {
					template.Subject, template.DNSNames, template.NotBefore, template.NotAfter = c.Subject, c.DNSNames, c.NotBefore, c.NotAfter
				}
			}
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	template.SerialNumber = big.NewInt(1)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	encode := func(kind string, der []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	in["Certificate"], in["PrivateKey"] = encode("CERTIFICATE", der), encode("PRIVATE KEY", private)
	delete(in, "CertificateChain")
	if arn, ok := in["CertificateArn"].(string); ok {
		in["CertificateArn"] = known(arn)
	}
	out, err := json.Marshal(in)
	return strings.TrimSpace(string(out)), err
}
