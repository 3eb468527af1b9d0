// Package awsmodel compares requests and responses with AWS's own API models: members, required members, types,
// enumerations, lengths, patterns, ranges, and the errors that an operation lists. Tests use it. Package recording uses it
// to find enumeration values, which it does not redact.
//
// The package parses the bytes on the wire and shares no code with the codecs of the emulator, so it finds mistakes in the
// codecs. The directory models has one file for each service. Command gen writes the files from the API models that AWS
// publishes (https://github.com/aws/api-models-aws, in the format of SDKs before Smithy), without documentation and only
// with the operations of the emulator.
//
// The models are incomplete: AWS accepts some values that its model does not list, and rejects some values that its model
// allows. The variable exceptions lists the accepted deviations with reasons.
package awsmodel
