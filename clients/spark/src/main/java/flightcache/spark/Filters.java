package flightcache.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.And;
import org.apache.spark.sql.connector.expressions.filter.Not;
import org.apache.spark.sql.connector.expressions.filter.Or;
import org.apache.spark.sql.connector.expressions.filter.Predicate;

/**
 * Predicates of Spark as the server's filters: lists of terms that must all hold, of which one must hold.
 *
 * <p>What is pushed keeps every row that the predicate keeps. Where it keeps no other row it is exact, and Spark need not look
 * again. Negations are carried down to the terms, where SQL's nulls make them what they are: no comparison with null holds, nor
 * does its negation.
 */
final class Filters {
  /** Lists of terms, and terms, that one filter may have: beyond it, Spark's own evaluation is cheaper. */
  private static final int MOST_TERMS = 512;

  private static final int MOST_VALUES = 10_000;

  /** A term: column, operator, and a value, a list of values, or nothing. */
  record Term(FilterColumn column, String operator, JsonNode value) {
    private Term cautious() {
      boolean above = operator.equals(">") || operator.equals(">=");
      return above && column.kind() == FilterColumn.Kind.FLOAT ? new Term(column, "is not null", null) : this;
    }

    @Override
    public String toString() {
      return String.join(".", column.path()) + " " + operator + (value == null ? "" : " " + value);
    }
  }

  /** What a predicate became. */
  record Pushed(List<List<Term>> anyOf, boolean exact) {
    int terms() {
      return anyOf.stream().mapToInt(List::size).sum();
    }

    /** The same without what was known of NaNs: for another generation, which may have some. */
    Pushed cautious() {
      return new Pushed(anyOf.stream().map(all -> all.stream().map(Term::cautious).toList()).toList(), exact);
    }

    /** As EXPLAIN shows it. */
    @Override
    public String toString() {
      return anyOf.stream()
          .map(all -> all.stream().map(Term::toString).collect(Collectors.joining(" AND ")))
          .collect(Collectors.joining(" OR "));
    }
  }

  private final FilterColumns columns;

  Filters(FilterColumns columns) {
    this.columns = columns;
  }

  /** The predicate as a filter, or null where nothing of it can be pushed. */
  Pushed push(Predicate predicate) {
    Pushed pushed = translate(predicate, false);
    return pushed == null || pushed.terms() == 0 ? null : pushed;
  }

  /** Both must hold; null if that becomes too long. */
  static Pushed both(Pushed a, Pushed b) {
    if ((long) a.anyOf.size() * b.terms() + (long) b.anyOf.size() * a.terms() > MOST_TERMS) {
      return null;
    }
    List<List<Term>> anyOf = new ArrayList<>();
    for (List<Term> x : a.anyOf) {
      for (List<Term> y : b.anyOf) {
        List<Term> all = new ArrayList<>(x);
        for (Term t : y) {
          if (!all.contains(t)) {
            all.add(t);
          }
        }
        anyOf.add(all);
      }
    }
    return new Pushed(anyOf, a.exact && b.exact);
  }

  /** The {@code filters} of a read command. */
  static ArrayNode json(Pushed filter, ToIntFunction<String> ordinals) {
    ArrayNode anyOf = Json.array();
    for (List<Term> terms : filter.anyOf) {
      ArrayNode all = anyOf.addArray();
      for (Term t : terms) {
        ArrayNode term = all.addArray();
        if (t.column.path().size() == 1) {
          term.add(ordinals.applyAsInt(t.column.path().get(0)));
        } else {
          term.add(String.join(".", t.column.path()));
        }
        term.add(t.operator);
        if (t.value != null) {
          term.add(t.value);
        }
      }
    }
    return anyOf;
  }

  private Pushed translate(Predicate p, boolean negated) {
    if (p instanceof And and) {
      return junction(and.left(), and.right(), !negated, negated);
    } else if (p instanceof Or or) {
      return junction(or.left(), or.right(), negated, negated);
    } else if (p instanceof Not not) {
      return translate(not.child(), !negated);
    }
    Expression[] args = p.children();
    switch (p.name()) {
      case "IS_NULL":
        return args[0] instanceof NamedReference ref ? isNull(ref, !negated) : null;
      case "IS_NOT_NULL":
        return args[0] instanceof NamedReference ref ? isNull(ref, negated) : null;
      case "IN":
        return in(args, negated);
      case "STARTS_WITH":
        return negated ? null : startsWith(args);
      case "=":
      case "<>":
      case "<":
      case "<=":
      case ">":
      case ">=":
      case "<=>":
        return comparison(p.name(), args, negated);
      default:
        return null;
    }
  }

  private Pushed junction(Predicate left, Predicate right, boolean and, boolean negated) {
    Pushed a = translate(left, negated);
    Pushed b = translate(right, negated);
    if (and) {
      // A part that cannot be pushed is left to Spark.
      if (a == null || b == null) {
        Pushed one = a == null ? b : a;
        return one == null ? null : new Pushed(one.anyOf, false);
      }
      Pushed both = both(a, b);
      return both != null ? both : new Pushed((a.terms() < b.terms() ? a : b).anyOf, false);
    }
    if (a == null || b == null || a.terms() + b.terms() > MOST_TERMS) {
      return null;
    }
    List<List<Term>> anyOf = new ArrayList<>(a.anyOf);
    anyOf.addAll(b.anyOf);
    return new Pushed(anyOf, a.exact && b.exact);
  }

  private static Pushed one(FilterColumn column, String operator, JsonNode value, boolean exact) {
    return new Pushed(List.of(List.of(new Term(column, operator, value))), exact);
  }

  private Pushed isNull(NamedReference ref, boolean isNull) {
    FilterColumn c = columns.find(ref);
    return c == null ? null : one(c, isNull ? "is null" : "is not null", null, true);
  }

  private Pushed startsWith(Expression[] args) {
    if (!(args[0] instanceof NamedReference ref) || !(args[1] instanceof Literal<?> literal)) {
      return null;
    }
    FilterColumn c = columns.find(ref);
    JsonNode value = c == null || c.kind() != FilterColumn.Kind.TEXT ? null : c.value(literal);
    return value == null ? null : one(c, "starts with", value, true);
  }

  private Pushed comparison(String operator, Expression[] args, boolean negated) {
    boolean flipped = args[0] instanceof Literal;
    Expression column = args[flipped ? 1 : 0];
    Expression constant = args[flipped ? 0 : 1];
    if (!(column instanceof NamedReference ref) || !(constant instanceof Literal<?> literal)) {
      return null;
    }
    FilterColumn c = columns.find(ref);
    if (c == null) {
      return null;
    }
    if (operator.equals("<=>")) {
      return nullSafe(c, literal, negated);
    }
    if (literal.value() == null) {
      return null; // it holds nowhere, which Spark finds by itself
    }
    String op = flipped ? mirrored(operator) : operator;
    return compare(c, negated ? opposite(op) : op, literal);
  }

  private static Pushed nullSafe(FilterColumn c, Literal<?> literal, boolean negated) {
    if (literal.value() == null) {
      return one(c, negated ? "is not null" : "is null", null, true);
    }
    Pushed equal = compare(c, negated ? "<>" : "=", literal);
    if (equal == null || !negated) {
      return equal;
    }
    List<List<Term>> anyOf = new ArrayList<>(equal.anyOf);
    anyOf.add(List.of(new Term(c, "is null", null)));
    return new Pushed(anyOf, equal.exact);
  }

  private static Pushed compare(FilterColumn c, String operator, Literal<?> literal) {
    JsonNode value = c.value(literal);
    if (value == null) {
      return null;
    }
    String op = operator.equals("<>") ? "!=" : operator;
    if (c.kind() == FilterColumn.Kind.FLOAT) {
      // Spark has NaN above all: what is greater includes NaNs, which the server's comparison leaves out.
      boolean above = op.equals(">") || op.equals(">=");
      return above && c.mayHaveNaN() ? one(c, "is not null", null, false) : one(c, op, value, false);
    }
    if (c.kind() == FilterColumn.Kind.BOOLEAN && !op.equals("=") && !op.equals("!=")) {
      return null;
    }
    return one(c, op, value, true);
  }

  private Pushed in(Expression[] args, boolean negated) {
    if (!(args[0] instanceof NamedReference ref) || args.length > MOST_VALUES) {
      return null;
    }
    FilterColumn c = columns.find(ref);
    if (c == null) {
      return null;
    }
    if (negated && c.kind() == FilterColumn.Kind.FLOAT) {
      return one(c, "is not null", null, false); // two zeros are one value to the server, and may be two to Spark
    }
    ArrayNode values = Json.array();
    for (int i = 1; i < args.length; i++) {
      if (!(args[i] instanceof Literal<?> literal)) {
        return null;
      }
      if (literal.value() == null) {
        if (negated) {
          return null; // it holds nowhere
        }
        continue; // nothing is equal to it
      }
      JsonNode value = c.value(literal);
      if (value == null) {
        return null;
      }
      values.add(value);
    }
    return one(c, negated ? "not in" : "in", values, c.kind() != FilterColumn.Kind.FLOAT);
  }

  private static String mirrored(String operator) {
    switch (operator) {
      case "<":
        return ">";
      case "<=":
        return ">=";
      case ">":
        return "<";
      case ">=":
        return "<=";
      default:
        return operator;
    }
  }

  private static String opposite(String operator) {
    switch (operator) {
      case "=":
        return "<>";
      case "<>":
        return "=";
      case "<":
        return ">=";
      case "<=":
        return ">";
      case ">":
        return "<=";
      default:
        return "<";
    }
  }
}
