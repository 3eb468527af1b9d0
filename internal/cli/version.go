package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
)

// Build information. Releases set these by the linker; other builds know their commit from the
// toolchain.
var (
	gitVersion = ""
	gitCommit  = ""
	buildDate  = ""
)

// build is what is known of this binary.
type build struct{ version, commit, date string }

func thisBuild() build {
	b := build{gitVersion, gitCommit, buildDate}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			if b.commit == "" {
				b.commit = s.Value
			}
		case "vcs.time":
			if b.date == "" {
				b.date = s.Value
			}
		}
	}
	return build{cmp.Or(b.version, "development"), cmp.Or(b.commit, "unknown"), cmp.Or(b.date, "unknown")}
}

// text is what version and --version print.
func (b build) text() string {
	return fmt.Sprintf("fulcrum %s\ncommit %s\nbuilt %s\n", b.version, b.commit, b.date)
}

// versionDocument is what version prints for tools.
type versionDocument struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	// Built is when the commit was made, or the release was built.
	Built string `json:"built"`
}

func newVersion(env output.Environment) *cobra.Command {
	var form output.Form
	cmd := &cobra.Command{Use: "version", Short: "Print the version", Args: output.NoArguments}
	form.Bind(cmd, env)
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := form.Check(); err != nil {
			return err
		}
		b := thisBuild()
		if !form.Text() {
			return form.Document(versionDocument{b.version, b.commit, b.date})
		}
		_, err := io.WriteString(form.Out(), b.text())
		return err
	}
	return cmd
}
