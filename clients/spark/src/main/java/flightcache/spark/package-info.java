/**
 * The Spark connector: datasets of flightcache as tables of Spark's DataSource V2.
 *
 * <p>The driver plans with {@code GetFlightInfo}, which reads no data: schema, rows, sizes, statistics and one ticket for each
 * partition. Tasks read their ticket's stream into Arrow vectors, which {@link flightcache.spark.vectors} shows to Spark where
 * they are. Tasks write into a transaction that the driver commits.
 *
 * <p>Arrow, Netty, gRPC, Guava, protobuf and Jackson are relocated in the jar: no class of theirs may be part of what is
 * exchanged with Spark.
 */
package flightcache.spark;
