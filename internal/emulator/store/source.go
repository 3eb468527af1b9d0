package store

// Source documents the origin of the code and the message of an error. The generated page
// docs/emulator-operations.md lists the errors without a source. Its generator reads the Go files, so each call of
// Errorf has its source as a literal argument.
type Source struct {
	// Kind is one of the constants below.
	Kind string
	// Ref is the reference: a page, a shape of the model, or a public report.
	Ref string
}

// Kinds of sources.
const (
	kindDocument  = "AWS document"
	kindModel     = "service model"
	kindQuotation = "quotation"
	kindUnproven  = "unproven"
	kindOwn       = "emulator"
)

var (
	// Unproven is the source of an error without evidence that AWS returns it.
	Unproven = Source{Kind: kindUnproven}
	// Own is the source of an error that only the emulator returns.
	Own = Source{Kind: kindOwn}
)

// Document is the source of an error in AWS's documentation.
func Document(ref string) Source { return Source{kindDocument, ref} }

// Model is the source of an error in the service model.
func Model(ref string) Source { return Source{kindModel, ref} }

// Quoted is the source of an error of the real service that a public report quotes,
// such as "kasmtech/terraform#5".
func Quoted(ref string) Source { return Source{kindQuotation, ref} }
