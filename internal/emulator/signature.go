package emulator

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// maxSkew is the maximum accepted difference between the date of a request and the emulator's clock.
const maxSkew = 5 * time.Minute

// verifySignature checks the signature of a request, if the configuration requires it and the
// secret of the access key is known. The caller holds the state lock.
func (em *Emulator) verifySignature(r request) *store.Error {
	secret, known := em.store.Secret(r.accessKey)
	if !em.store.Config.VerifySignatures || !known {
		return nil
	}
	wrong := store.Errorf(store.ReportSource("aws/aws-cli#134"), "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. "+
		"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.").WithStatus(403)
	at, err := time.Parse("20060102T150405Z", r.httpRequest.Header.Get("X-Amz-Date"))
	if err != nil {
		return wrong
	}
	if skew := em.store.Clock.Now().Sub(at).Abs(); skew > maxSkew {
		return store.Errorf(store.UnprovenSource, "RequestExpired", "Request has expired: signed at %s", at.Format(time.RFC3339))
	}
	given := r.httpRequest.Header.Get("Authorization")
	again, err := recomputeSignature(r.httpRequest.Context(), r, secret, at)
	if err != nil || subtle.ConstantTimeCompare([]byte(authorizationPart(given, "Signature=")), []byte(authorizationPart(again, "Signature="))) != 1 {
		return wrong
	}
	return nil
}

// recomputeSignature signs a copy of a request with a secret, and returns the Authorization header. It signs the same
// headers as the client has signed.
func recomputeSignature(ctx context.Context, r request, secret string, at time.Time) (string, error) {
	clone, err := http.NewRequestWithContext(ctx, r.httpRequest.Method, r.httpRequest.URL.String(), nil)
	if err != nil {
		return "", err
	}
	clone.Host = r.httpRequest.Host
	if clone.Host == "" {
		clone.Host = r.httpRequest.URL.Host
	}
	for _, name := range strings.Split(authorizationPart(r.httpRequest.Header.Get("Authorization"), "SignedHeaders="), ";") {
		switch name {
		case "host":
		case "content-length":
			clone.ContentLength = r.httpRequest.ContentLength
		default:
			clone.Header[http.CanonicalHeaderKey(name)] = r.httpRequest.Header.Values(name)
		}
	}
	sum := sha256.Sum256(r.body)
	scope := credentialScope(r.httpRequest.Header.Get("Authorization"))
	creds := aws.Credentials{AccessKeyID: r.accessKey, SecretAccessKey: secret, SessionToken: clone.Header.Get("X-Amz-Security-Token")}
	if err := v4.NewSigner().SignHTTP(ctx, creds, clone, hex.EncodeToString(sum[:]), scope.service, scope.region, at); err != nil {
		return "", err
	}
	return clone.Header.Get("Authorization"), nil
}

// authorizationPart returns the value after a label, such as "Signature=", of an Authorization header.
func authorizationPart(authorization, label string) string {
	_, rest, _ := strings.Cut(authorization, label)
	value, _, _ := strings.Cut(rest, ",")
	return strings.TrimSpace(value)
}
