package procession.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.ObjectType;

/**
 * A call or a cast of a program: its function, or the type that is cast; the type of its result; its step.
 *
 * @param attempt whether a failure is null
 */
record Call(Program program, String name, String result, JsonNode step, boolean attempt) {
  /** The name of a type without its parameters. */
  static String base(String type) {
    int end = type.indexOf('(');
    return end < 0 ? type : type.substring(0, end);
  }

  boolean isCast() {
    return "cast".equals(step.path(0).asText());
  }

  /** Whether a failure of this step, and not of those below it, is null. */
  boolean forgives() {
    return attempt || isCast() && step.path(1).asBoolean();
  }

  int size() {
    return isCast() ? 1 : step.path(4).size();
  }

  JsonNode given(int place) {
    return isCast() ? step.path(4) : step.path(4).path(place);
  }

  /** The name of an argument's type. */
  String type(int place) {
    return isCast() ? base(name) : base(step.path(3).path(place).asText());
  }

  /** An argument; null where there is none, or none in Java. */
  Expression argument(int place) {
    return place < size() ? program.expression(given(place), attempt) : null;
  }

  /** The text of an argument that is a constant, or of one that is read as something else; null of others. */
  String text(int place) {
    JsonNode found = given(place);
    if ("cast".equals(found.path(0).asText()) && "jsonpath".equals(found.path(3).asText())) {
      found = found.path(4);
    }
    boolean constant = "constant".equals(found.path(0).asText()) && "varchar".equals(base(found.path(2).asText()));
    return constant && found.path(1).isTextual() ? found.path(1).asText() : null;
  }

  /** What an argument casts of that type; null of any other argument. */
  Expression castFrom(int place, String type) {
    JsonNode found = given(place);
    boolean cast = "cast".equals(found.path(0).asText()) && type.equals(found.path(2).asText());
    return cast ? program.expression(found.path(4), attempt) : null;
  }

  /** A method of {@code owner}, a record by which Spark sees that two calls are one, over as many of the first arguments; null where one of them is none in Java. */
  Expression invoke(Object owner, String method, DataType type, int arguments) {
    List<Expression> given = new ArrayList<>();
    for (int i = 0; i < arguments; i++) {
      given.add(argument(i));
    }
    return invoke(owner, method, type, given);
  }

  static Expression invoke(Object owner, String method, DataType type, List<Expression> given) {
    if (owner == null || given.stream().anyMatch(Objects::isNull)) {
      return null;
    }
    Literal target = new Literal(owner, new ObjectType(owner.getClass()));
    return new Invoke(target, method, type, Rules.seq(given), Rules.seq(List.of()), true, true, true);
  }
}
