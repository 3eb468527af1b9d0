package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/version"
)

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
		b := version.Current()
		if !form.Text() {
			return form.Document(versionDocument{b.Version, b.Commit, b.Date})
		}
		_, err := io.WriteString(form.Out(), b.Text("fulcrum"))
		return err
	}
	return cmd
}
