/**
 * Arrow vectors as Spark's columns, without a copy: each kind of layout has a class that reads the vector's buffers where they
 * are.
 *
 * <p>A column is valid until its batch is replaced or its stream is closed, and does not own the memory. Buffers are checked for
 * their lengths when a column is made; after that a read of a slot within the batch's rows checks nothing.
 */
package flightcache.spark.vectors;
