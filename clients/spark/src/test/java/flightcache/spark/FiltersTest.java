package flightcache.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.IntNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.filter.And;
import org.apache.spark.sql.connector.expressions.filter.Not;
import org.apache.spark.sql.connector.expressions.filter.Or;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class FiltersTest {
  private static final StructType COLUMNS =
      StructType.fromDDL("i INT, f DOUBLE, clean FLOAT, s STRING, st STRUCT<a: INT>, l ARRAY<INT>");

  /** A dataset whose floats have NaNs in f, and none in clean. */
  private static Dataset dataset(StructType columns) {
    Schema arrow = SparkToArrow.schema("d", columns);
    List<Facts.Column> facts = new ArrayList<>();
    for (String name : columns.fieldNames()) {
      facts.add(new Facts.Column(name, "", 0, 0, IntNode.valueOf(0), IntNode.valueOf(9), true, name.equals("f")));
    }
    Facts all = new Facts("1", 10, 0, 0, facts, List.of(), 10);
    return new Dataset(Options.of(Map.of()), "d", null, arrow, columns, all);
  }

  private static Filters.Pushed push(Predicate p) {
    return new Filters(new FilterColumns(dataset(COLUMNS))).push(p);
  }

  private static String json(Filters.Pushed pushed) {
    return Filters.json(pushed, dataset(COLUMNS)::ordinal).toString();
  }

  private static Predicate is(String column, String operator, Object value) {
    Object catalyst = value instanceof String s ? UTF8String.fromString(s) : value;
    return new Predicate(operator, new Expression[] {Expressions.column(column), literal(catalyst)});
  }

  private static Expression literal(Object value) {
    // Spark's own literals have the types of Catalyst, as its planner makes them.
    org.apache.spark.sql.types.DataType type =
        value instanceof UTF8String
            ? org.apache.spark.sql.types.DataTypes.StringType
            : value instanceof Double
                ? org.apache.spark.sql.types.DataTypes.DoubleType
                : value instanceof Float
                    ? org.apache.spark.sql.types.DataTypes.FloatType
                    : org.apache.spark.sql.types.DataTypes.IntegerType;
    return new org.apache.spark.sql.connector.expressions.LiteralValue<>(value, type);
  }

  @Test
  void conjunctionsAndDisjunctions() {
    Filters.Pushed p = push(new And(is("i", ">", 5), new Or(is("s", "=", "a"), is("i", "=", 9))));
    assertTrue(p.exact());
    assertEquals("[[[0,\">\",5],[3,\"=\",\"a\"]],[[0,\">\",5],[0,\"=\",9]]]", json(p));
  }

  @Test
  void negationsGoDownToTheTerms() {
    Filters.Pushed p = push(new Not(new And(is("i", ">", 5), new Not(is("s", "=", "a")))));
    assertEquals("[[[0,\"<=\",5]],[[3,\"=\",\"a\"]]]", json(p));
    assertTrue(p.exact());
    assertEquals("[[[0,\"!=\",5]],[[0,\"is null\"]]]", json(push(new Not(is("i", "<=>", 5)))));
  }

  @Test
  void aConstantMayComeFirst() {
    Predicate p = new Predicate("<", new Expression[] {literal(5), Expressions.column("i")});
    assertEquals("[[[0,\">\",5]]]", json(push(p)));
  }

  @Test
  void fieldsOfStructsArePaths() {
    assertEquals("[[[\"st.a\",\"=\",1]]]", json(push(is("st.a", "=", 1))));
    Dataset dotted = dataset(StructType.fromDDL("st STRUCT<a: INT>, `st.b` INT"));
    assertNull(new Filters(new FilterColumns(dotted)).push(is("st.a", "=", 1)));
  }

  @Test
  void floatsOnlyPrune() {
    assertFalse(push(is("f", "<", 1.5)).exact());
    assertEquals("[[[1,\"<\",1.5]]]", json(push(is("f", "<", 1.5))));
    // NaN is above all to Spark: what is greater may be one.
    assertEquals("[[[1,\"is not null\"]]]", json(push(is("f", ">", 1.5))));
    assertNull(push(is("f", "=", Double.NaN)));
    Filters.Pushed clean = push(is("clean", ">", 0.1f));
    assertEquals("[[[2,\">\",0.10000000149011612]]]", json(clean));
    assertEquals("[[[2,\"is not null\"]]]", json(clean.cautious()));
    assertEquals("[[[1,\"<\",\"Infinity\"]]]", json(push(is("f", "<", Double.POSITIVE_INFINITY))));
  }

  @Test
  void whatIsNotKnownIsLeftToSpark() {
    Predicate unknown = new Predicate("CONTAINS", new Expression[] {Expressions.column("s"), literal(UTF8String.fromString("a"))});
    assertNull(push(unknown));
    assertNull(push(new Or(unknown, is("i", "=", 1))));
    Filters.Pushed part = push(new And(unknown, is("i", "=", 1)));
    assertFalse(part.exact());
    assertEquals("[[[0,\"=\",1]]]", json(part));
    assertFalse(push(new Not(new Or(unknown, is("i", "=", 1)))).exact());
    assertNull(push(is("s", "=", null)));
    assertNull(push(is("nothing", "=", 1)));
    assertNull(push(is("l", "=", 1)));
    UTF8String broken = UTF8String.fromBytes(new byte[] {(byte) 0xff});
    assertNull(push(new Predicate("=", new Expression[] {Expressions.column("s"), literal(broken)})));
  }

  @Test
  void lists() {
    Expression[] args = {Expressions.column("i"), literal(1), literal(null), literal(3)};
    assertEquals("[[[0,\"in\",[1,3]]]]", json(push(new Predicate("IN", args))));
    assertNull(push(new Not(new Predicate("IN", args)))); // with a null among them it never holds
    Expression[] whole = {Expressions.column("i"), literal(1)};
    assertEquals("[[[0,\"not in\",[1]]]]", json(push(new Not(new Predicate("IN", whole)))));
  }

  @Test
  void bothStaysShort() {
    Filters.Pushed either = push(new Or(is("i", "=", 1), is("s", "=", "a")));
    Filters.Pushed all = either;
    int factors = 1;
    while (all != null && factors < 20) {
      all = Filters.both(all, either);
      factors++;
    }
    assertNull(all);
    assertTrue(factors > 4, "too short: " + factors);
    assertNotNull(Filters.both(either, push(is("i", "<", 3))));
  }
}
