package targets

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

// maxSessionName is the maximum length of a session name in STS.
const maxSessionName = 64

// roleClient is the cached client for an IAM role and an external ID.
type roleClient struct {
	elb       *elb.Client
	err       error // the error with which AWS refused the role; elb is then nil
	expiresAt time.Time
}

// cacheRoleClient caches the client of a role, and removes expired clients from the cache.
func (t *Targets) cacheRoleClient(a bindings.Account, client roleClient) {
	now := t.Config.Clock.Now()
	t.WithLock(func() {
		cache.Put(t.roles, a, client, func(old roleClient) bool { return !now.Before(old.expiresAt) })
	})
}

// assumeRole returns a client with the permissions of an IAM role. It assumes the role if no client is cached, or if the
// credentials of the client expire soon.
func (t *Targets) assumeRole(ctx context.Context, a bindings.Account) (*elb.Client, error) {
	cached := func() (r roleClient, ok bool) {
		t.WithLock(func() { r = t.roles[a] })
		return r, t.Config.Clock.Now().Before(r.expiresAt)
	}
	for {
		if r, ok := cached(); ok {
			return r.elb, r.err
		}
		err := t.ReadShared(ctx, fmt.Sprintf("assume %q %q", a.Role, a.ExternalID.Reveal()), func() error {
			if _, ok := cached(); ok {
				return nil
			}
			return t.newRoleClient(ctx, a)
		})
		if err != nil {
			return nil, err
		}
	}
}

func (t *Targets) newRoleClient(ctx context.Context, a bindings.Account) error {
	what := "assume role " + a.Role
	out, err := t.API.STS.AssumeRole(ctx, &sts.AssumeRoleInput{
		RoleArn: aws.String(a.Role), RoleSessionName: aws.String(sessionName(t.Config.Cluster)), ExternalId: convert.NilIfEmpty(string(a.ExternalID)),
	})
	if sdk.IsInterrupted(err) {
		return err
	}
	if err != nil {
		class := sdk.ClassOf(err)
		if class == failure.Invalid || class == failure.Gone {
			class = failure.Denied // callers would interpret Gone and Invalid as an error about the target group, not about the role
		}
		err = sdk.Wrap(class, what, sdk.WithoutSecrets(err, []string{a.ExternalID.Reveal()}))
		if isRefused(err) {
			t.cacheRoleClient(a, roleClient{err: err, expiresAt: t.Config.Clock.Now().Add(durations.Recent)})
		}
		return err
	}
	if out.Credentials == nil || out.Credentials.Expiration == nil {
		return sdk.NewError(failure.Unknown, what, "AWS returned no credentials")
	}
	until := out.Credentials.Expiration.Add(-durations.AttemptDeadline)
	if !t.Config.Clock.Now().Before(until) {
		return sdk.NewError(failure.Unknown, what, "the credentials expire too soon")
	}
	api := t.ClientsWithCredentials(credentials.NewStaticCredentialsProvider(
		aws.ToString(out.Credentials.AccessKeyId), aws.ToString(out.Credentials.SecretAccessKey), aws.ToString(out.Credentials.SessionToken)), t.scheduleForRole(a).Limiter).ELB
	t.cacheRoleClient(a, roleClient{elb: api, expiresAt: until})
	return nil
}

// invalidSessionNameCharacters matches characters that STS does not accept in session names.
var invalidSessionNameCharacters = regexp.MustCompile(`[^a-zA-Z0-9=,.@_-]`)

// sessionName returns the session name for assumed roles. CloudTrail shows it in the account of the role.
func sessionName(cluster string) string {
	name := invalidSessionNameCharacters.ReplaceAllString("AWS-LBC-"+cluster, "")
	return name[:min(len(name), maxSessionName)]
}
