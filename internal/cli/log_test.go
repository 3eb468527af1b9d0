package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
)

func TestLibraryInfoIsLoggedAtDebugLevel(t *testing.T) {
	for level, want := range map[string]string{"info": "wrong", "debug": "daily wrong"} {
		var b bytes.Buffer
		log, _ := newLogger(&b, level, config.JSONFormat)
		library := log.WithSink(demotingSink{log.GetSink()}).WithName("library").WithValues("k", "v")
		library.Info("daily")
		library.Error(errors.New("no"), "wrong")
		var got []string
		for line := range strings.Lines(b.String()) {
			_, rest, _ := strings.Cut(line, `"msg":"`)
			message, _, _ := strings.Cut(rest, `"`)
			got = append(got, message)
			if !strings.Contains(line, `"logger":"library"`) || !strings.Contains(line, `"k":"v"`) {
				t.Errorf("the name or the value is lost: %s", line)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("at %s: %v, want %s", level, got, want)
		}
	}
}
