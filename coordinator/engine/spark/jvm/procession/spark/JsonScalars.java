package procession.spark;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.schubfach.DoubleToDecimal;
import java.io.IOException;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;
import org.apache.spark.unsafe.types.UTF8String;

/** JSON as a single value: casts of {@code kernels/functions/json_casts.py}. JSON's null is null. */
public record JsonScalars(boolean attempt) implements Serializable {
  private static final int MOST_DIGITS = 19;

  /** A JSON text's only token, and of arrays and objects the whole. */
  private record Value(JsonToken token, String text) {}

  /** Null of JSON's null, and of what is refused where that is null. */
  private Value value(UTF8String json, String type) {
    Value found = JsonTexts.read(json, JsonScalars::read);
    if (found == null) {
      return Failures.of(attempt, Failures.BAD_CAST, "Cannot cast to " + type + ". Not a JSON text\n" + json);
    }
    if (found.token.isStructStart()) {
      return refused("Cannot cast '" + found.text + "' to " + type);
    }
    return found.token == JsonToken.VALUE_NULL ? null : found;
  }

  private static Value read(JsonParser at) throws IOException {
    JsonToken token = at.currentToken();
    if (!token.isStructStart()) {
      return new Value(token, token == JsonToken.VALUE_NUMBER_INT ? JsonTexts.whole(at.getText()) : at.getText());
    }
    StringBuilder whole = new StringBuilder();
    JsonTexts.write(at, whole);
    return new Value(token, whole.toString());
  }

  private <T> T refused(String said) {
    return Failures.of(attempt, Failures.BAD_CAST, said);
  }

  public UTF8String text(UTF8String json) {
    Value found = value(json, "varchar");
    if (found == null) {
      return null;
    }
    boolean floating = found.token == JsonToken.VALUE_NUMBER_FLOAT;
    return UTF8String.fromString(floating ? DoubleToDecimal.toString(Double.parseDouble(found.text)) : found.text);
  }

  public Long bigint(UTF8String json) {
    return whole(json, "bigint", "BIGINT", Long.MIN_VALUE, Long.MAX_VALUE);
  }

  public Integer integer(UTF8String json) {
    Long found = whole(json, "integer", "INT", Integer.MIN_VALUE, Integer.MAX_VALUE);
    return found == null ? null : (Integer) found.intValue();
  }

  private Long whole(UTF8String json, String type, String shown, long least, long most) {
    Value found = value(json, type);
    if (found == null) {
      return null;
    }
    switch (found.token) {
      case VALUE_TRUE:
        return 1L;
      case VALUE_FALSE:
        return 0L;
      case VALUE_NUMBER_FLOAT:
        return rounded(Double.parseDouble(found.text), type, least, most);
      default:
        Long number = within(digits(found), least, most);
        boolean text = found.token == JsonToken.VALUE_STRING;
        return number != null ? number : refused("Cannot cast '" + found.text + "' to " + (text ? shown : type));
    }
  }

  private static String digits(Value found) {
    return found.token == JsonToken.VALUE_STRING ? found.text.trim() : found.text;
  }

  private Long rounded(double value, String type, long least, long most) {
    if (!Double.isInfinite(value)) {
      BigDecimal whole = new BigDecimal(value).setScale(0, RoundingMode.HALF_UP);
      if (whole.compareTo(BigDecimal.valueOf(least)) >= 0 && whole.compareTo(BigDecimal.valueOf(most)) <= 0) {
        return whole.longValueExact();
      }
    }
    return refused("Unable to cast " + DoubleToDecimal.toString(value) + " to " + type);
  }

  /** The number of a sign and digits; null of anything else, and of what is out of range. */
  static Long within(String text, long least, long most) {
    int start = !text.isEmpty() && "+-".indexOf(text.charAt(0)) >= 0 ? 1 : 0;
    int first = start;
    while (first < text.length() - 1 && text.charAt(first) == '0') {
      first++;
    }
    if (start == text.length() || text.length() - first > MOST_DIGITS) {
      return null;
    }
    if (!text.substring(start).chars().allMatch(Character::isDigit)) {
      return null;
    }
    try {
      long found = Long.parseLong((text.charAt(0) == '-' ? "-" : "") + text.substring(first));
      return found >= least && found <= most ? found : null;
    } catch (NumberFormatException tooLarge) {
      return null;
    }
  }

  public Double number(UTF8String json) {
    Value found = value(json, "double");
    if (found == null) {
      return null;
    }
    switch (found.token) {
      case VALUE_TRUE:
        return 1.0;
      case VALUE_FALSE:
        return 0.0;
      case VALUE_STRING:
        try {
          return Double.parseDouble(found.text);
        } catch (NumberFormatException none) {
          return refused("Cannot cast '" + found.text + "' to DOUBLE");
        }
      default:
        return Double.parseDouble(found.text);
    }
  }

  public Boolean truth(UTF8String json) {
    Value found = value(json, "boolean");
    if (found == null) {
      return null;
    }
    switch (found.token) {
      case VALUE_TRUE:
        return true;
      case VALUE_FALSE:
        return false;
      case VALUE_NUMBER_FLOAT:
        return Double.parseDouble(found.text) != 0;
      case VALUE_STRING:
        return switch (found.text.toLowerCase(Locale.ROOT)) {
          case "true", "t", "1" -> true;
          case "false", "f", "0" -> false;
          default -> refused("Cannot cast '" + found.text + "' to BOOLEAN");
        };
      default:
        Long number = within(found.text, Long.MIN_VALUE, Long.MAX_VALUE);
        return number != null ? (Boolean) (number != 0) : refused("Cannot cast '" + found.text + "' to boolean");
    }
  }
}
