package flightcache.spark;

import org.apache.spark.sql.connector.read.InputPartition;

/**
 * One endpoint of a plan.
 *
 * @param address the server that has it
 * @param ticket opaque, of one generation
 */
record TicketPartition(String address, byte[] ticket) implements InputPartition {}
