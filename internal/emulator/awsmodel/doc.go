// Package awsmodel compares requests and answers with AWS's own API models: members, required members, types,
// enumerations, lengths, patterns, ranges, and the errors that an operation lists. Tests use it. Recordings of AWS use
// it to find values of enumerations, which are not redacted.
//
// It reads the bytes on the wire and shares no code with the codecs of the emulator, so that it finds their mistakes.
// The models are in models/, one file for each service, taken from the API models that AWS publishes
// (https://github.com/aws/api-models-aws, in the format of SDKs before Smithy), without documentation and reduced to
// the operations that the emulator has. Package gen writes them.
//
// The models are incomplete: AWS accepts some values that its model does not list, and rejects some values that its model
// allows. The table exceptions lists the accepted deviations, with reasons.
package awsmodel
