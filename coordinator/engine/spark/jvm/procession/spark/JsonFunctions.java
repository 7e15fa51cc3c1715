package procession.spark;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;

/** Functions of whole JSON texts: {@code kernels/functions/json_functions.py}. */
public record JsonFunctions(boolean attempt) implements Serializable {
  /** The text as JSON_PARSE leaves it. */
  public UTF8String parse(UTF8String text) {
    StringBuilder shown = new StringBuilder();
    Boolean read =
        JsonTexts.read(
            text,
            at -> {
              JsonTexts.writeOrdered(at, shown);
              return true;
            });
    if (read == null) {
      return Failures.of(attempt, Failures.INVALID, "Cannot convert '" + text + "' to JSON");
    }
    return UTF8String.fromString(shown.toString());
  }

  public Boolean isScalar(UTF8String text) {
    Boolean found =
        JsonTexts.read(
            text,
            at -> {
              boolean scalar = at.currentToken().isScalarValue();
              at.skipChildren();
              return scalar;
            });
    return found != null ? found : Failures.of(attempt, Failures.INVALID, "Invalid JSON value: " + text);
  }

  /** A value of an array, of a negative place from its end: a text without its quotes, null of JSON's null. */
  public UTF8String element(UTF8String text, long place) {
    return JsonTexts.read(text, at -> at.currentToken() == JsonToken.START_ARRAY ? elementOf(at, place) : skipped(at));
  }

  private static UTF8String elementOf(JsonParser at, long place) throws IOException {
    List<String> last = new ArrayList<>();
    String found = null;
    for (long i = 0; at.nextToken() != JsonToken.END_ARRAY; i++) {
      if (place < 0) {
        last.add(shown(at));
      } else if (i == place) {
        found = shown(at);
      } else {
        at.skipChildren();
      }
    }
    if (place < 0 && place >= -last.size()) {
      found = last.get((int) (last.size() + place));
    }
    return found == null ? null : UTF8String.fromString(found);
  }

  private static String shown(JsonParser at) throws IOException {
    if (at.currentToken() == JsonToken.VALUE_NULL) {
      return null;
    }
    if (at.currentToken() == JsonToken.VALUE_STRING) {
      return at.getText();
    }
    StringBuilder json = new StringBuilder();
    JsonTexts.write(at, json);
    return json.toString();
  }

  private static UTF8String skipped(JsonParser at) throws IOException {
    at.skipChildren();
    return null;
  }

  public Boolean contains(UTF8String text, boolean wanted) {
    return any(text, at -> at.currentToken() == (wanted ? JsonToken.VALUE_TRUE : JsonToken.VALUE_FALSE));
  }

  public Boolean contains(UTF8String text, long wanted) {
    String digits = Long.toString(wanted);
    return any(text, at -> at.currentToken() == JsonToken.VALUE_NUMBER_INT && digits.equals(JsonTexts.whole(at.getText())));
  }

  /** Numbers with a point or an exponent are doubles, others are none. */
  public Boolean contains(UTF8String text, double wanted) {
    return any(
        text, at -> at.currentToken() == JsonToken.VALUE_NUMBER_FLOAT && Double.parseDouble(at.getText()) == wanted);
  }

  public Boolean contains(UTF8String text, UTF8String wanted) {
    String value = wanted.toString();
    return any(text, at -> at.currentToken() == JsonToken.VALUE_STRING && value.equals(at.getText()));
  }

  private static Boolean any(UTF8String text, JsonTexts.Reading<Boolean> wanted) {
    return JsonTexts.read(
        text,
        at -> {
          if (at.currentToken() != JsonToken.START_ARRAY) {
            at.skipChildren();
            return null;
          }
          boolean found = false;
          while (at.nextToken() != JsonToken.END_ARRAY) {
            found |= wanted.of(at);
            at.skipChildren();
          }
          return found;
        });
  }
}
