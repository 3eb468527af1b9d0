package cloud

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

const (
	// expiryMargin is how long before their end credentials are not used any more.
	expiryMargin = 30 * time.Second
	// maxSessionName is the longest name of a session that STS takes.
	maxSessionName = 64
)

// roleCache keeps a client for each role and external id.
type roleCache struct {
	mu      sync.Mutex
	clients map[bindings.Account]roleClient
}

type roleClient struct {
	elb   *elb.Client
	until time.Time
}

func (r *roleCache) with(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients == nil {
		r.clients = map[bindings.Account]roleClient{}
	}
	fn()
}

// assume returns a client with the rights of a role. The role is assumed when there is none, or
// when the credentials are about to end.
func (c *Cloud) assume(ctx context.Context, a bindings.Account) (*elb.Client, error) {
	cached := func() (out *elb.Client) {
		c.roles.with(func() {
			if r := c.roles.clients[a]; c.cfg.Now().Before(r.until) {
				out = r.elb
			}
		})
		return out
	}
	for {
		if api := cached(); api != nil {
			return api, nil
		}
		err := c.flight.do(ctx, "assume "+a.Role+" "+string(a.ExternalID), func() error {
			if cached() != nil {
				return nil
			}
			return c.newRoleClient(ctx, a)
		})
		if err != nil {
			return nil, err
		}
	}
}

func (c *Cloud) newRoleClient(ctx context.Context, a bindings.Account) error {
	what := "assume role " + a.Role
	out, err := c.api.sts.AssumeRole(ctx, &sts.AssumeRoleInput{
		RoleArn: aws.String(a.Role), RoleSessionName: aws.String(sessionName(c.cfg.Cluster)), ExternalId: optional(string(a.ExternalID)),
	})
	if interrupted(err) {
		return err
	}
	if err != nil {
		class := classify(err)
		if class == engine.Invalid || class == engine.Gone {
			class = engine.Denied // says nothing about the target group, which may be there
		}
		return &Error{What: what, class: class, err: withoutSecret(err, a.ExternalID)}
	}
	if out.Credentials == nil || out.Credentials.Expiration == nil {
		return failed(engine.Unknown, what, "AWS gave no credentials")
	}
	until := out.Credentials.Expiration.Add(-expiryMargin)
	if !c.cfg.Now().Before(until) {
		return failed(engine.Unknown, what, "the credentials end too soon")
	}
	base := c.base.Copy()
	base.Credentials = credentials.NewStaticCredentialsProvider(
		aws.ToString(out.Credentials.AccessKeyId), aws.ToString(out.Credentials.SecretAccessKey), aws.ToString(out.Credentials.SessionToken))
	// AWS's limits are those of an account, so each has a pace of its own.
	api := newClients(base, c.cfg, newPacer(c.cfg.Paces, c.cfg.Now, c.cfg.MaxWait)).elb
	c.roles.with(func() {
		now := c.cfg.Now()
		for k, r := range c.roles.clients {
			if !now.Before(r.until) {
				delete(c.roles.clients, k)
			}
		}
		c.roles.clients[a] = roleClient{api, until}
	})
	return nil
}

// withoutSecret is an error whose text does not tell the external id, which AWS repeats where it
// does not like its form.
func withoutSecret(err error, secret bindings.Secret) error {
	if secret == "" || !strings.Contains(err.Error(), string(secret)) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), string(secret), fmt.Sprint(secret)))
}

var notInSessionName = regexp.MustCompile(`[^a-zA-Z0-9=,.@_-]`)

// sessionName is by what the trail of the other account knows the controller.
func sessionName(cluster string) string {
	name := notInSessionName.ReplaceAllString("AWS-LBC-"+cluster, "")
	return name[:min(len(name), maxSessionName)]
}
