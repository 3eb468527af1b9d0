package emulator_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	rgt "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	rgttypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	metadata "github.com/fulcrum-lb/fulcrum/internal/emulator/imds"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const deployerRole = "arn:aws:iam::444455556666:role/deployer"

func TestAssumedRoleUsesItsAccount(t *testing.T) {
	em := emulator.New(emulator.Options{})
	cfg := clientConfig(em, testAccessKey)
	other := cfg.Copy()
	other.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), deployerRole))
	id, err := sts.NewFromConfig(other).GetCallerIdentity(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if *id.Account != "444455556666" {
		t.Errorf("account %s", *id.Account)
	}
	if _, err := createVPC(t, ec2.NewFromConfig(other)); err != nil {
		t.Fatal(err)
	}
	if n := countVPCs(em); n != 1 {
		t.Errorf("want the caller's account untouched, got %d VPCs", n)
	}
}

func TestAssumeRoleIsRefused(t *testing.T) {
	em := emulator.New(emulator.Options{})
	em.Store().Lock()
	em.Store().PutRole(store.Role{ARN: deployerRole, ExternalID: "secret-word", Trusted: []string{"111122223333"}})
	em.Store().Unlock()
	cases := map[string]struct {
		key  string
		in   sts.AssumeRoleInput
		want string
	}{
		"right":            {testAccessKey, sts.AssumeRoleInput{ExternalId: aws.String("secret-word")}, ""},
		"no external id":   {testAccessKey, sts.AssumeRoleInput{}, "AccessDenied"},
		"wrong id":         {testAccessKey, sts.AssumeRoleInput{ExternalId: aws.String("guess")}, "AccessDenied"},
		"not trusted":      {"AKIA777788889999", sts.AssumeRoleInput{ExternalId: aws.String("secret-word")}, "AccessDenied"},
		"not a role":       {testAccessKey, sts.AssumeRoleInput{RoleArn: aws.String("arn:aws:iam::1:role/aaaaaaaaaaaaaaaa")}, "ValidationError"},
		"bad session name": {testAccessKey, sts.AssumeRoleInput{RoleSessionName: aws.String("a b")}, "ValidationError"},
		"too long":         {testAccessKey, sts.AssumeRoleInput{DurationSeconds: aws.Int32(50000)}, "ValidationError"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.in.RoleArn == nil {
				c.in.RoleArn = aws.String(deployerRole)
			}
			if c.in.RoleSessionName == nil {
				c.in.RoleSessionName = aws.String("session")
			}
			_, err := sts.NewFromConfig(clientConfig(em, c.key)).AssumeRole(t.Context(), &c.in)
			if got := code(err); got != c.want {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

func TestAssumeRoleWithWebIdentity(t *testing.T) {
	token := func(claims string) *string {
		return aws.String("e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln")
	}
	cases := map[string]struct {
		token *string
		want  string
	}{
		"valid":       {token(fmt.Sprintf(`{"sub": "system:serviceaccount:a:b", "exp": %d}`, time.Now().Add(time.Hour).Unix())), ""},
		"expired":     {token(`{"sub": "x", "exp": 1000}`), "ExpiredTokenException"},
		"not a token": {aws.String("word"), "InvalidIdentityToken"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			em := emulator.New(emulator.Options{})
			cfg := clientConfig(em, testAccessKey)
			cfg.Credentials = aws.AnonymousCredentials{}
			out, err := sts.NewFromConfig(cfg).AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{
				RoleArn: aws.String(deployerRole), RoleSessionName: aws.String("session"), WebIdentityToken: c.token,
			})
			if got := code(err); got != c.want {
				t.Fatalf("want %q, got %v", c.want, err)
			}
			if err == nil && *out.SubjectFromWebIdentityToken != "system:serviceaccount:a:b" {
				t.Errorf("subject %s", *out.SubjectFromWebIdentityToken)
			}
		})
	}
}

func TestUnsignedCallsAreRefused(t *testing.T) {
	em := emulator.New(emulator.Options{})
	cfg := clientConfig(em, testAccessKey)
	cfg.Credentials = aws.AnonymousCredentials{}
	_, err := ec2.NewFromConfig(cfg).DescribeVpcs(t.Context(), nil)
	if code(err) != "MissingAuthenticationToken" {
		t.Error(err)
	}
}

// allocateTaggedAddresses allocates n Elastic IP addresses with tags and returns their ARNs.
func allocateTaggedAddresses(t *testing.T, c *ec2.Client, n int, tags ...string) []string {
	t.Helper()
	var list []ec2types.Tag
	for i := 0; i < len(tags); i += 2 {
		list = append(list, ec2types.Tag{Key: aws.String(tags[i]), Value: aws.String(tags[i+1])})
	}
	var arns []string
	for range n {
		out, err := c.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{TagSpecifications: []ec2types.TagSpecification{
			{ResourceType: ec2types.ResourceTypeElasticIp, Tags: list},
		}})
		if err != nil {
			t.Fatal(err)
		}
		arns = append(arns, "arn:aws:ec2:us-west-2:111122223333:elastic-ip/"+*out.AllocationId)
	}
	return arns
}

func TestGetResources(t *testing.T) {
	em := emulator.New(emulator.Options{})
	network, c := ec2.NewFromConfig(clientConfig(em, testAccessKey)), rgt.NewFromConfig(clientConfig(em, testAccessKey))
	a := allocateTaggedAddresses(t, network, 3, "team", "a", "env", "test")
	b := allocateTaggedAddresses(t, network, 2, "team", "b")
	allocateTaggedAddresses(t, network, 1)
	filter := func(key string, values ...string) rgttypes.TagFilter {
		return rgttypes.TagFilter{Key: aws.String(key), Values: values}
	}
	cases := map[string]struct {
		in   rgt.GetResourcesInput
		want []string
		code string
	}{
		"everything tagged":   {rgt.GetResourcesInput{}, slices.Concat(a, b), ""},
		"a value":             {rgt.GetResourcesInput{TagFilters: []rgttypes.TagFilter{filter("team", "a")}}, a, ""},
		"one of two values":   {rgt.GetResourcesInput{TagFilters: []rgttypes.TagFilter{filter("team", "a", "b")}}, slices.Concat(a, b), ""},
		"a key":               {rgt.GetResourcesInput{TagFilters: []rgttypes.TagFilter{filter("env")}}, a, ""},
		"two keys":            {rgt.GetResourcesInput{TagFilters: []rgttypes.TagFilter{filter("team", "b"), filter("env")}}, nil, ""},
		"case matters":        {rgt.GetResourcesInput{TagFilters: []rgttypes.TagFilter{filter("team", "A")}}, nil, ""},
		"a service":           {rgt.GetResourcesInput{ResourceTypeFilters: []string{"ec2"}}, slices.Concat(a, b), ""},
		"a type":              {rgt.GetResourcesInput{ResourceTypeFilters: []string{"ec2:elastic-ip"}}, slices.Concat(a, b), ""},
		"another type":        {rgt.GetResourcesInput{ResourceTypeFilters: []string{"elasticloadbalancing:targetgroup"}}, nil, ""},
		"names":               {rgt.GetResourcesInput{ResourceARNList: []string{a[0], "arn:aws:ec2:us-west-2:111122223333:vpc/vpc-0"}}, a[:1], ""},
		"small pages":         {rgt.GetResourcesInput{ResourcesPerPage: aws.Int32(2)}, slices.Concat(a, b), ""},
		"names and filters":   {rgt.GetResourcesInput{ResourceARNList: a, TagFilters: []rgttypes.TagFilter{filter("env")}}, nil, "InvalidParameterException"},
		"pages beyond limits": {rgt.GetResourcesInput{ResourcesPerPage: aws.Int32(101)}, nil, "InvalidParameterException"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			pages := rgt.NewGetResourcesPaginator(c, &tc.in)
			for pages.HasMorePages() {
				out, err := pages.NextPage(t.Context())
				if code(err) != tc.code {
					t.Fatalf("want %q, got %v", tc.code, err)
				}
				if err != nil {
					return
				}
				for _, r := range out.ResourceTagMappingList {
					got = append(got, *r.ResourceARN)
				}
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(tc.want))
			if !slices.Equal(want, got) {
				t.Errorf("want %v, got %v", want, got)
			}
		})
	}
}

func TestGetResourcesTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		em := emulator.New(emulator.Options{})
		c := rgt.NewFromConfig(clientConfig(em, testAccessKey))
		allocateTaggedAddresses(t, ec2.NewFromConfig(clientConfig(em, testAccessKey)), 3, "team", "a")
		out, err := c.GetResources(t.Context(), &rgt.GetResourcesInput{ResourcesPerPage: aws.Int32(2)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(16 * time.Minute)
		_, err = c.GetResources(t.Context(), &rgt.GetResourcesInput{ResourcesPerPage: aws.Int32(2), PaginationToken: out.PaginationToken})
		if code(err) != "PaginationTokenExpiredException" {
			t.Error(err)
		}
	})
}

func TestInstanceMetadata(t *testing.T) {
	em := emulator.New(emulator.Options{Account: "111122223333"})
	run, err := ec2.NewFromConfig(clientConfig(em, testAccessKey)).RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		MetadataOptions: &ec2types.InstanceMetadataOptionsRequest{HttpTokens: ec2types.HttpTokensStateRequired},
	})
	if err != nil {
		t.Fatal(err)
	}
	instance := run.Instances[0]
	em.IMDS().SetIdentity(metadata.Identity{Role: "node"})
	c := imds.New(imds.Options{HTTPClient: em.Client()})

	region, err := c.GetRegion(t.Context(), nil)
	if err != nil || region.Region != "us-west-2" {
		t.Errorf("region: %v, %v", region, err)
	}
	get := func(path string) string {
		out, err := c.GetMetadata(t.Context(), &imds.GetMetadataInput{Path: path})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return ""
		}
		text, err := io.ReadAll(out.Content)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	mac := get("mac")
	for path, want := range map[string]string{
		"instance-id":                                *instance.InstanceId,
		"placement/availability-zone":                *instance.Placement.AvailabilityZone,
		"local-ipv4":                                 *instance.PrivateIpAddress,
		"network/interfaces/macs/":                   mac + "/",
		"network/interfaces/macs/" + mac + "/vpc-id": *instance.VpcId,
		"iam/security-credentials/":                  "node",
	} {
		if got := get(path); got != want {
			t.Errorf("%s: want %s, got %s", path, want, got)
		}
	}
	resp, err := em.Client().Get("http://169.254.169.254/latest/meta-data/instance-id")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 401 {
		t.Errorf("without a token: want 401, got %d", resp.StatusCode)
	}
	em.IMDS().SetIdentity(metadata.Identity{Unreachable: true})
	if _, err := em.Client().Get("http://169.254.169.254/latest/meta-data/instance-id"); err == nil {
		t.Error("want no answer beyond the hop limit")
	}
}
