// Command goclient writes and reads tables of every Arrow type with arrow-go's stock Flight client, without options.
//
//	goclient ADDRESS FOLDER put PREFIX
//	goclient ADDRESS FOLDER get PREFIX...
//
// put puts each Arrow IPC stream FOLDER/NAME.arrows as the dataset PREFIX/NAME. get reads PREFIX/NAME for each of the
// prefixes and compares it with the file.
//
// It prints one JSON object a line for each dataset, as the clients in other languages do:
// {"dataset": "...", "outcome": "ok"}. Another outcome is the step that failed, and why tells its error: file (this
// library cannot read the file), call (the put or the read failed), schema or values (what was read is not what the file
// holds).
package main
