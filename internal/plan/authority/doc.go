// Package authority takes what members have no right to any more out of what is live, before anything else is planned.
package authority
