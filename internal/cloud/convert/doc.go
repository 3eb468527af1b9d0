// Package convert converts values between the types of the AWS SDK and those of the packages model and observed. A desired
// value that is written to AWS equals the value that is read afterwards. The package makes no calls and stores no state.
package convert
