// Package awsmodel holds requests and answers against what AWS's own API models say: members, required ones, types,
// enumerations, lengths, patterns, ranges, and the errors that an operation lists. Tests use it, and recordings of AWS,
// which keep the words of its enumerations.
//
// It reads the bytes on the wire and shares no code with the codecs of the emulator, so that a mistake of theirs is
// seen. The facts are in models/, one file a service, taken from the API models that AWS publishes
// (https://github.com/aws/api-models-aws, in the form that the SDKs before Smithy use), reduced to the operations that
// the emulator has. There is no prose in them. Package gen writes them.
//
// A model is not all of the truth: AWS accepts some values that its model does not list, and refuses more than the
// model says. Table exceptions has the first kind, with reasons.
package awsmodel
