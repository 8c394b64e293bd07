/**
 * Writes and reads tables of every Arrow type with the stock Java Flight client.
 *
 * <p>{@code zooclient.Main ADDRESS FOLDER put PREFIX} puts each Arrow IPC stream FOLDER/NAME.arrows as the dataset
 * PREFIX/NAME. {@code zooclient.Main ADDRESS FOLDER get PREFIX...} reads PREFIX/NAME for each of the prefixes and
 * compares it with the file.
 *
 * <p>It prints one JSON object a line for each dataset, as the clients in other languages do: {@code {"dataset":
 * "...", "outcome": "ok"}}. Another outcome is the step that failed, and {@code why} tells its error: {@code file}
 * (this library cannot read the file), {@code call} (the put or the read failed), {@code schema} or {@code values}
 * (what was read is not what the file holds).
 *
 * <p>{@link zooclient.Login} logs in over TLS, in every way that the library has.
 */
package zooclient;
