// Package secure is TLS for a listener: certificates from files that are read again, and connections that write few, full
// records.
//
// # Purpose
//
// [Open] reads a certificate, its key and the certificates of those who sign clients'. Each handshake takes what the files say
// then; connections that are there go on with what they began with. So a certificate is renewed by replacing its files.
//
// crypto/tls makes one system call of each record, which has 16 KiB at most, and begins each connection with smaller ones. A
// [Conn] collects the records of a write and sends them together, and all its records may be full.
//
// # Invariants
//
// TLS is 1.2 or newer, and the client asks for HTTP/2. A client's certificate that is shown where it may be is verified. Records
// go out in the order in which they were made.
//
// # Concurrency
//
// Files may be used by any number of handshakes. A Conn is used as a net.Conn is: one writes, one reads, anybody closes.
//
// # What it is not
//
// No session is resumed: a connection of a Flight client lives long, and a resumed session would not look at the client's
// certificate again. A signer that is taken back ends no connection that is there. There are no revocation lists.
package secure
