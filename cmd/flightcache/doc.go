// Command flightcache is the flightcache program: the server and its command-line client.
//
// `serve` wires the packages of this module into a server. Every other subcommand is an ordinary Arrow Flight client:
// it uses nothing of the server's own packages and works against any address that speaks the same commands, tickets and
// actions.
//
// One file holds one subcommand. A subcommand is a struct whose fields are its flags and arguments and whose Run method
// takes an *env: the context that an interrupt cancels and the three standard streams. Run returns an error and prints
// no error itself; main prints it in one line on stderr and exits with 1.
//
// Flags win over the environment (FLIGHTCACHE_ and the flag's name), and that wins over the file that --config names.
//
// A panic becomes an error like any other; FLIGHTCACHE_TRACEBACK=1 in the environment shows its stack too.
//
// Data flows batch by batch: a source (ipcfile.go, parquet.go, csv.go) yields record batches, a sink takes them, and
// neither a put nor a get holds a whole dataset in memory. A batch belongs to whoever got it from Next, who releases it.
//
// Nothing here runs concurrently except the transport and the progress display, so no type in this package is safe for
// concurrent use unless it says so.
package main
