// Command certificates makes the certificates of a test, in a folder.
//
//	certificates FOLDER NAME...
//
// It makes those of an authority (ca.pem), and for each name one that the authority signs (NAME.pem, NAME.key), for the loopback and
// localhost, as a server or a client. No key is kept anywhere else.
package main
