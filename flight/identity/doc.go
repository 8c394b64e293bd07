// Package identity tells who calls, by what a call or its connection shows.
//
// # Purpose
//
// An [Authority] knows callers by any of these, as its options say:
//
//   - A static bearer token, of which a file has the hash.
//   - A name and a password, of which a file has the bcrypt hash. They are answered with a signed token.
//   - A signed token: a name and an expiry under a key. Whoever has the key takes the token, so the servers of a group take each
//     other's.
//   - A JSON web token, by the keys in a JWKS file or where its issuer publishes them, with its issuer, its audience, and roles from
//     a claim.
//   - A certificate that TLS has verified; its subject is the name.
//
// Files are read again when they change. Published keys are fetched every five minutes, and when a token names one that is not
// known, though never within ten seconds of the last try. A try that fails leaves the keys that there are.
//
// # Invariants
//
// Who cannot be told gets [ErrUnauthenticated], which is the same for every reason. The reason is in the error for the log
// ([Reason]), without anything of the secret. Secrets are compared in constant time: by hashes under a key that the process made,
// or by the comparisons of crypto libraries. For a user that there is not a password is checked as long as for one that there is.
//
// A failure takes a quarter of a second, and one address may have one password checked at a time, so that it makes four guesses
// a second. Passwords that were right are remembered, by a hash under a key of the process, while their user's hash stays, as a
// client may send its password with each call.
//
// # Concurrency
//
// An Authority may be asked by any number of goroutines. Passwords are checked by half of the processors at most.
//
// # What it is not
//
// It does not say what a caller may do. What a call shows must be right: a wrong token is refused though the connection has a good
// certificate. Names of all kinds are one space: a JSON web token whose subject is alice is the alice of the passwords. So trust an
// issuer with all names, or with none. A signed token is good until it expires or its user leaves, or has another password; a JSON web
// token until it expires.
package identity
