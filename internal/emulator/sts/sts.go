package sts

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// Service serves the operations of STS.
type Service struct{ store *store.Store }

// New returns the service for the state of an emulator.
func New(w *store.Store) *Service { return &Service{w} }

// Operations lists the operations of the service.
func (s *Service) Operations() []wire.Operation {
	return []wire.Operation{
		wire.NewOperation("GetCallerIdentity", s.GetCallerIdentity, wire.HandledMembers()),
		wire.NewOperation("AssumeRole", s.AssumeRole, wire.HandledMembers("RoleArn", "RoleSessionName", "ExternalId", "DurationSeconds")),
		wire.NewOperation("AssumeRoleWithWebIdentity", s.AssumeRoleWithWebIdentity,
			wire.HandledMembers("RoleArn", "RoleSessionName", "WebIdentityToken", "DurationSeconds", "ProviderId")),
	}
}

// GetCallerIdentity returns the caller's account and ARN.
func (s *Service) GetCallerIdentity(c *store.Call, _ *sts.GetCallerIdentityInput) (*sts.GetCallerIdentityOutput, error) {
	id := "AIDAFULCRUM" + c.Account
	return &sts.GetCallerIdentityOutput{
		Account: aws.String(c.Account), UserId: aws.String(id),
		Arn: aws.String(c.Caller.ARN),
	}, nil
}

var (
	roleARNPattern     = regexp.MustCompile(`^arn:aws[a-z-]*:iam::([0-9]{12}):role/([\w+=,.@/-]+)$`)
	sessionNamePattern = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)
)

// AssumeRole returns credentials for a new session of a role.
func (s *Service) AssumeRole(c *store.Call, in *sts.AssumeRoleInput) (*sts.AssumeRoleOutput, error) {
	account, name, err := checkRole(in.RoleArn, in.RoleSessionName, in.DurationSeconds)
	if err != nil {
		return nil, err
	}
	external := aws.ToString(in.ExternalId)
	if in.ExternalId != nil && (len(external) < 2 || len(external) > 1224) {
		return nil, validationError("externalId", external, "length between 2 and 1224")
	}
	denied := store.Errorf(store.UnprovenSource, "AccessDenied", "User: %s is not authorized to perform: sts:AssumeRole on resource: %s",
		c.Caller.ARN, *in.RoleArn).WithStatus(403)
	role, ok := s.store.RoleByARN(*in.RoleArn)
	if ok {
		if role.ExternalID != "" && role.ExternalID != external || !role.Trusts(c.Account) {
			return nil, denied
		}
	}
	user := s.assumedRoleUser(account, name, *in.RoleSessionName)
	creds := s.newCredentials(c, account, store.Principal{ARN: *user.Arn, Policies: role.Policies}, in.DurationSeconds)
	return &sts.AssumeRoleOutput{Credentials: creds, AssumedRoleUser: user}, nil
}

// AssumeRoleWithWebIdentity returns credentials for a new session of a role, for the token of a web identity. It checks
// whether the token has expired, but not its signature.
func (s *Service) AssumeRoleWithWebIdentity(c *store.Call, in *sts.AssumeRoleWithWebIdentityInput) (*sts.AssumeRoleWithWebIdentityOutput, error) {
	account, name, err := checkRole(in.RoleArn, in.RoleSessionName, in.DurationSeconds)
	if err != nil {
		return nil, err
	}
	subject, tokenErr := readToken(aws.ToString(in.WebIdentityToken), c.Now)
	if tokenErr != nil {
		return nil, tokenErr
	}
	user := s.assumedRoleUser(account, name, *in.RoleSessionName)
	role, _ := s.store.RoleByARN(*in.RoleArn)
	return &sts.AssumeRoleWithWebIdentityOutput{
		Credentials:                 s.newCredentials(c, account, store.Principal{ARN: *user.Arn, Policies: role.Policies}, in.DurationSeconds),
		AssumedRoleUser:             user,
		SubjectFromWebIdentityToken: aws.String(subject),
	}, nil
}

func checkRole(arn, session *string, duration *int32) (account, name string, err error) {
	m := roleARNPattern.FindStringSubmatch(aws.ToString(arn))
	if m == nil {
		return "", "", store.Errorf(store.UnprovenSource, "ValidationError", "%s is invalid", aws.ToString(arn))
	}
	if !sessionNamePattern.MatchString(aws.ToString(session)) {
		return "", "", validationError("roleSessionName", aws.ToString(session), `regular expression pattern: [\w+=,.@-]*`)
	}
	if duration != nil && (*duration < 900 || *duration > 43200) {
		return "", "", validationError("durationSeconds", fmt.Sprint(*duration), "value between 900 and 43200")
	}
	return m[1], m[2], nil
}

func validationError(member, value, constraint string) *store.Error {
	return store.Errorf(store.UnprovenSource, "ValidationError",
		"1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy %s", value, member, constraint)
}

func (s *Service) newCredentials(c *store.Call, account string, who store.Principal, duration *int32) *types.Credentials {
	seconds := cmp.Or(aws.ToInt32(duration), 3600)
	key := "ASIA" + strings.ToUpper(s.store.RandomHex(16))
	secret := s.store.RandomHex(40)
	s.store.AddAccessKey(key, account)
	s.store.AddSecret(key, secret)
	s.store.PutPrincipal(key, who)
	return &types.Credentials{
		AccessKeyId: aws.String(key), SecretAccessKey: aws.String(secret), SessionToken: aws.String(s.store.RandomHex(64)),
		Expiration: aws.Time(c.Now.Add(time.Duration(seconds) * time.Second)),
	}
}

func (s *Service) assumedRoleUser(account, role, session string) *types.AssumedRoleUser {
	return &types.AssumedRoleUser{
		AssumedRoleId: aws.String("AROA" + strings.ToUpper(s.store.RandomHex(16)) + ":" + session),
		Arn:           aws.String("arn:" + s.store.AWSPartition().Name + ":sts::" + account + ":assumed-role/" + role + "/" + session),
	}
}

// readToken returns the subject of a JSON Web Token. It returns an error if the token is malformed or has expired.
func readToken(token string, now time.Time) (string, *store.Error) {
	parts := strings.Split(token, ".")
	bad := store.Errorf(store.UnprovenSource, "InvalidIdentityToken", "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
	if len(parts) != 3 {
		return "", bad
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", bad
	}
	var claims struct {
		Subject string  `json:"sub"`
		Expires float64 `json:"exp"`
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		return "", bad
	}
	if claims.Expires != 0 && now.Unix() >= int64(claims.Expires) {
		return "", store.Errorf(store.UnprovenSource, "ExpiredTokenException", "Token expired")
	}
	return claims.Subject, nil
}
