// Package convert converts values between the types of the AWS SDK and those of model and observed. A desired value
// that is written to AWS and read back is equal to itself. The package makes no calls and keeps no state.
package convert
