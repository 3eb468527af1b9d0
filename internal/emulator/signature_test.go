package emulator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

func TestSignaturesAreVerifiedIfConfigured(t *testing.T) {
	em := emulator.New(emulator.Options{})
	em.Store().Lock()
	em.Store().Config.VerifySignatures = true
	em.Store().AddSecret(testAccessKey, "secret")
	em.Store().Unlock()
	good := clientConfig(em, testAccessKey)
	if _, err := createVPC(t, ec2.NewFromConfig(good)); err != nil {
		t.Errorf("a form: %v", err)
	}
	if _, err := acm.NewFromConfig(good).ListCertificates(t.Context(), nil); err != nil {
		t.Errorf("JSON: %v", err)
	}
	assumed := good.Copy()
	assumed.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(good), deployerRole))
	if _, err := createVPC(t, ec2.NewFromConfig(assumed)); err != nil {
		t.Errorf("with a session token: %v", err)
	}
	bad := good.Copy()
	bad.Credentials = credentials.NewStaticCredentialsProvider(testAccessKey, "guess", "")
	if _, err := createVPC(t, ec2.NewFromConfig(bad)); code(err) != "SignatureDoesNotMatch" {
		t.Errorf("a wrong secret: %v", err)
	}
	stranger := clientConfig(em, "AKIA444455556666")
	if _, err := createVPC(t, ec2.NewFromConfig(stranger)); err != nil {
		t.Errorf("a key without a secret: %v", err)
	}
}

func TestOldSignaturesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := store.NewManualClock(time.Now())
		em := emulator.New(emulator.Options{Clock: clock})
		em.Store().Lock()
		em.Store().Config.VerifySignatures = true
		em.Store().AddSecret(testAccessKey, "secret")
		em.Store().Unlock()
		c := ec2.NewFromConfig(clientConfig(em, testAccessKey))
		if _, err := createVPC(t, c); err != nil {
			t.Error(err)
		}
		clock.Advance(6 * time.Minute)
		if _, err := createVPC(t, c); code(err) != "RequestExpired" {
			t.Error(err)
		}
	})
}
