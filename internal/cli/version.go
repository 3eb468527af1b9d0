package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/version"
)

// VersionDocument is the output of the command version as JSON or YAML.
type VersionDocument struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	// Built is the time of the commit. For a release, it is the time of the build.
	Built string `json:"built"`
}

// newVersionCommand returns the command version.
func newVersionCommand(env output.Environment) *cobra.Command {
	var form output.Format
	cmd := &cobra.Command{Use: "version", Short: "Print the version", Args: output.NoArguments}
	form.Bind(cmd, env)
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := form.Check(); err != nil {
			return err
		}
		b := version.Current()
		if !form.IsText() {
			return form.PrintDocument(VersionDocument{b.Version, b.Commit, b.Date})
		}
		_, err := io.WriteString(form.Out(), b.Text("fulcrum"))
		return err
	}
	return cmd
}
