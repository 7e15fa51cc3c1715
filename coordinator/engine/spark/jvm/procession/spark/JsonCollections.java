package procession.spark;

import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.schubfach.DoubleToDecimal;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** JSON as arrays and maps of single values: casts of {@code kernels/functions/json_casts.py}. */
public record JsonCollections(Element element, String type, boolean attempt) implements Serializable {
  /** What is inside. */
  public enum Element {
    JSON("json", DataTypes.StringType),
    VARCHAR("varchar", DataTypes.StringType),
    BIGINT("bigint", DataTypes.LongType),
    DOUBLE("double", DataTypes.DoubleType);

    final String type;
    final transient DataType spark;

    Element(String type, DataType spark) {
      this.type = type;
      this.spark = spark;
    }
  }

  static final Set<Element> TEXTS = Set.of(Element.JSON, Element.VARCHAR);

  /** Why a value is none; {@code whole} where the text is shown as it is written and not as it was given. */
  private static final class RefusedException extends Exception {
    private final boolean whole;

    RefusedException(String said, boolean whole) {
      super(said, null, false, false);
      this.whole = whole;
    }
  }

  /** The values of an array; null of JSON's null. */
  public ArrayData array(UTF8String json) {
    Object tree = JsonTexts.read(json, at -> JsonTexts.tree(at, false));
    try {
      if (isNull(tree)) {
        return null;
      }
      if (!(tree instanceof List<?> values)) {
        throw new RefusedException("Expected a json array, but got " + word(tree), false);
      }
      return new GenericArrayData(elements(values));
    } catch (RefusedException refused) {
      return refused(refused, json, tree);
    }
  }

  /** The members of an object; null of JSON's null. */
  public MapData map(UTF8String json) {
    Object tree = JsonTexts.read(json, at -> JsonTexts.tree(at, false));
    try {
      if (isNull(tree)) {
        return null;
      }
      if (!(tree instanceof Map<?, ?> members)) {
        throw new RefusedException("Expected a json object, but got " + word(tree), false);
      }
      Object[] keys = members.keySet().stream().map(key -> UTF8String.fromString((String) key)).toArray();
      return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(elements(members.values())));
    } catch (RefusedException refused) {
      return refused(refused, json, tree);
    }
  }

  private static boolean isNull(Object tree) throws RefusedException {
    if (tree == null) {
      throw new RefusedException("Not a JSON text", false);
    }
    return tree instanceof JsonTexts.Scalar scalar && scalar.token() == JsonToken.VALUE_NULL;
  }

  private <T> T refused(RefusedException why, UTF8String json, Object tree) {
    String shown = why.whole ? JsonTexts.shown(tree) : json.toString();
    return Failures.of(attempt, Failures.BAD_CAST, "Cannot cast to " + type + ". " + why.getMessage() + "\n" + shown);
  }

  private static String word(Object tree) {
    return tree instanceof Map ? "{" : tree instanceof List ? "[" : JsonTexts.shown(tree);
  }

  private Object[] elements(Iterable<?> values) throws RefusedException {
    List<Object> made = new ArrayList<>();
    for (Object value : values) {
      made.add(element == Element.JSON ? UTF8String.fromString(JsonTexts.shown(value)) : single(value));
    }
    return made.toArray();
  }

  private Object single(Object value) throws RefusedException {
    if (!(value instanceof JsonTexts.Scalar scalar)) {
      throw new RefusedException("Unexpected token when cast to " + element.type + ": " + word(value), false);
    }
    if (scalar.token() == JsonToken.VALUE_NULL) {
      return null;
    }
    return switch (element) {
      case BIGINT -> bigint(scalar);
      case DOUBLE -> number(scalar);
      default -> UTF8String.fromString(
          scalar.token() == JsonToken.VALUE_STRING ? scalar.text() : JsonTexts.shown(scalar));
    };
  }

  private static Long bigint(JsonTexts.Scalar scalar) throws RefusedException {
    switch (scalar.token()) {
      case VALUE_TRUE:
        return 1L;
      case VALUE_FALSE:
        return 0L;
      case VALUE_NUMBER_FLOAT:
        double value = Double.parseDouble(scalar.text());
        BigDecimal whole = Double.isInfinite(value) ? null : new BigDecimal(value).setScale(0, RoundingMode.HALF_UP);
        if (whole == null || whole.toBigInteger().bitLength() > 63) {
          throw new RefusedException("Unable to cast " + DoubleToDecimal.toString(value) + " to bigint", true);
        }
        return whole.longValueExact();
      default:
        boolean text = scalar.token() == JsonToken.VALUE_STRING;
        String digits = text ? scalar.text().trim() : JsonTexts.whole(scalar.text());
        Long found = JsonScalars.within(digits, Long.MIN_VALUE, Long.MAX_VALUE);
        if (found == null) {
          throw new RefusedException("Cannot cast '" + (text ? scalar.text() : digits) + "' to BIGINT", true);
        }
        return found;
    }
  }

  private static Double number(JsonTexts.Scalar scalar) throws RefusedException {
    switch (scalar.token()) {
      case VALUE_TRUE:
        return 1.0;
      case VALUE_FALSE:
        return 0.0;
      default:
        try {
          return Double.parseDouble(JsonTexts.whole(scalar.text()));
        } catch (NumberFormatException none) {
          throw new RefusedException("Cannot cast '" + scalar.text() + "' to DOUBLE", true);
        }
    }
  }
}
