package input

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// TestCommandsTimeOutAfterSeconds checks that a command sets timeouts of seconds for calls to AWS, and at most 3 attempts
// unless --aws-max-retries is set. The controller uses the default timeouts.
func TestCommandsTimeOutAfterSeconds(t *testing.T) {
	d := &Source{Env: output.Environment{Getenv: func(string) string { return "" }}}
	d.Config.AWS.MaxRetries = 10
	cc, err := d.CloudConfig()
	if err != nil || cc.MaxAttempts != 3 || cc.CallTimeout != 2*durations.AnswerTimeout || cc.AttemptTimeout != durations.AnswerTimeout {
		t.Errorf("%+v, %v", cc, err)
	}
	d.Config.AWS.MaxRetries = 7
	if cc, _ := d.CloudConfig(); cc.MaxAttempts != 7 {
		t.Errorf("%d attempts", cc.MaxAttempts)
	}
	if cc, _ := CloudConfig(d.Config, d.Env); cc.CallTimeout != 0 {
		t.Error("the controller has the call timeout of a command")
	}
	for _, n := range []int{0, -1} {
		d.Config.AWS.MaxRetries = n
		if cc, _ := CloudConfig(d.Config, d.Env); cc.MaxAttempts != 3 {
			t.Errorf("--aws-max-retries=%d: %d attempts, want the 3 of the SDK", n, cc.MaxAttempts)
		}
	}
}
