package procession.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** A program whose steps become Spark's expressions. The steps are those of {@code kernels/functions/program.py}. */
final class Program {
  final String zone;
  private final List<Expression> columns;

  Program(String zone, List<Expression> columns) {
    this.zone = zone;
    this.columns = columns;
  }

  /**
   * The expression of a step; null where there is none in Java. A failure within an {@code attempt} is null: all that
   * is computed of null is null, too.
   */
  Expression expression(JsonNode step, boolean attempt) {
    switch (step.path(0).asText()) {
      case "column":
        int place = step.path(1).asInt(-1);
        return place >= 0 && place < columns.size() ? columns.get(place) : null;
      case "constant":
        return constant(step.path(1), Call.base(step.path(2).asText()));
      case "try":
        return expression(step.path(1), true);
      case "form":
        // Within an attempt one failure would be that of the whole.
        return !attempt && "COALESCE".equals(step.path(1).asText()) ? coalesced(step.path(3)) : null;
      case "cast":
        return call(new Call(this, step.path(2).asText(), step.path(3).asText(), step, attempt));
      case "call":
        return call(new Call(this, step.path(1).asText(), step.path(2).asText(), step, attempt));
      default:
        return null;
    }
  }

  private static Expression call(Call call) {
    Function<Call, Expression> form = Forms.of(call);
    return form == null ? null : form.apply(call);
  }

  private Expression coalesced(JsonNode steps) {
    List<Expression> made = new ArrayList<>();
    for (JsonNode step : steps) {
      Expression value = expression(step, false);
      if (value == null || !made.isEmpty() && !value.dataType().equals(made.get(0).dataType())) {
        return null;
      }
      made.add(value);
    }
    return made.isEmpty() ? null : new Coalesce(Rules.seq(made));
  }

  private static Expression constant(JsonNode value, String type) {
    return switch (type) {
      case "varchar" -> value.isTextual() ? new Literal(UTF8String.fromString(value.asText()), DataTypes.StringType) : null;
      case "bigint" -> value.canConvertToLong() ? new Literal(value.asLong(), DataTypes.LongType) : null;
      case "integer" -> value.canConvertToInt() ? new Literal(value.asInt(), DataTypes.IntegerType) : null;
      case "double" -> number(value.asText());
      case "boolean" -> value.isBoolean() ? new Literal(value.asBoolean(), DataTypes.BooleanType) : null;
      default -> null;
    };
  }

  private static Expression number(String shown) {
    try {
      return new Literal(Double.parseDouble(shown), DataTypes.DoubleType);
    } catch (NumberFormatException pythonsName) {
      return null;
    }
  }
}
