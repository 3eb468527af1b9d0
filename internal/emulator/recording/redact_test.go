package recording

import (
	"strings"
	"testing"
)

// TestRecordingHasNoAccountData checks that a redacted recording does not contain names, IDs and addresses of an account.
// The names of resources that the run has created remain readable.
func TestRecordingHasNoAccountData(t *testing.T) {
	t.Parallel()
	const (
		account = "999988887777"
		key     = "-----BEGIN PRIVATE KEY----- abc"
	)
	answer := func(text string) *Node {
		n, err := ParseResponseBody([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	r := Recording{Account: account, Site: Site{VPC: "vpc-0123456789abcdef0", Instances: []Instance{{ID: "i-0123456789abcdef1", SecurityGroups: []string{"sg-0123456789abcdef2"}}}}, Calls: []Call{
		{
			Operation: "CreateLoadBalancer", Body: "Action=CreateLoadBalancer&Name=k8s-run-web&Subnets.member.1=subnet-0123456789abcdef3",
			Answer: answer(`<R><LoadBalancers><member><LoadBalancerArn>arn:aws:elasticloadbalancing:eu-west-1:` + account + `:loadbalancer/app/k8s-run-web/0123456789abcdef</LoadBalancerArn><VpcId>vpc-0123456789abcdef0</VpcId><New>a word of AWS</New></member></LoadBalancers></R>`),
		},
		{
			Operation: "DescribeInstances",
			Answer: answer(`<R><item><instanceId>i-0123456789abcdef1</instanceId><keyName>alice-laptop</keyName><ipAddress>52.1.2.3</ipAddress><privateIpAddress>10.1.2.3</privateIpAddress>` +
				`<iamInstanceProfile><arn>arn:aws:iam::` + account + `:instance-profile/payments-nodes</arn></iamInstanceProfile><tagSet><item><key>team</key><value>payments</value></item></tagSet>` +
				`<dnsName>ec2-52-1-2-3.compute.amazonaws.com</dnsName><state><name>running</name></state><vpcId>vpc-0123456789abcdef0</vpcId></item></R>`),
		},
		{
			Operation: "DescribeLoadBalancers",
			Answer: answer(`<R><member><LoadBalancerName>payments-prod</LoadBalancerName><DNSName>payments-prod-1.eu-west-1.elb.amazonaws.com</DNSName>` +
				`<LoadBalancerArn>arn:aws:elasticloadbalancing:eu-west-1:` + account + `:loadbalancer/app/payments-prod/1123456789abcdef</LoadBalancerArn></member></R>`),
		},
		{Operation: "ImportCertificate", Body: `{"PrivateKey":"` + key + `","Tags":[{"Key":"a"}]}`},
		{
			Operation: "CreateListener",
			Answer:    answer(`{"__type":"AccessDenied","message":"User: arn:aws:sts::` + account + `:assumed-role/admins/alice is not authorized to perform: x"}`),
		},
	}}
	if err := r.Redact(account, key, "alice", "payments", "52.1.2.3", "52-1-2-3", "0123456789abcdef0", "0123456789abcdef1", "0123456789abcdef2", "0123456789abcdef3"); err != nil {
		var out strings.Builder
		_ = r.Write(&out)
		t.Fatalf("%v\n%s", err, out.String())
	}
	var out strings.Builder
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"arn:aws:elasticloadbalancing:eu-west-1:" + Account + ":loadbalancer/app/k8s-run-web/0123456789abcdef", "a word of AWS",
		"10.1.2.3", "running", "is not authorized to perform: x", `"t":"vpc-00000000000000001"`, `"vpc": "vpc-00000000000000001"`, "Subnets.member.1=subnet-",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the recording lacks %q:\n%s", want, out.String())
		}
	}
}

// TestRecordingWithSecretIsRejected checks that Redact returns an error without the secret if a secret remains in the
// recording.
func TestRecordingWithSecretIsRejected(t *testing.T) {
	t.Parallel()
	r := Recording{Calls: []Call{{Operation: "CreateTags", Body: `{"Value":"alice"}`}}}
	if err := r.Redact("alice"); err == nil || strings.Contains(err.Error(), "alice") {
		t.Errorf("got %v", err)
	}
}
