package flightcache.spark;

import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** What a task's attempt put: the name of the put in the transaction, or null if there was no row. */
record PutMessage(String id, long rows) implements WriterCommitMessage {}
