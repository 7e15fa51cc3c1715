package procession.spark;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.io.schubfach.DoubleToDecimal;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.unsafe.types.UTF8String;

/** JSON as Presto reads and writes it: {@code kernels/functions/json_casts.py} and {@code json_texts.py}. */
final class JsonTexts {
  private static final int MOST_DIGITS = 4300;
  private static final int MOST_DEPTH = 900;
  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNumberLength(MOST_DIGITS)
                  .maxNestingDepth(MOST_DEPTH)
                  .maxStringLength(Integer.MAX_VALUE)
                  .maxNameLength(Integer.MAX_VALUE)
                  .build())
          .build();
  private static final String HEX = "0123456789ABCDEF";

  private JsonTexts() {}

  /** What of a JSON text, from its first token on, is wanted. */
  interface Reading<T> {
    T of(JsonParser at) throws IOException;
  }

  /** What is read of a text; null where that, or what follows it, is no JSON. */
  static <T> T read(UTF8String text, Reading<T> reading) {
    try (JsonParser parser = parser(text)) {
      if (parser.nextToken() == null) {
        return null;
      }
      T found = reading.of(parser);
      return parser.nextToken() == null ? found : null;
    } catch (IOException noJson) {
      return null;
    }
  }

  /** Bytes are looked at for UTF-16 and its like, which no text of Spark's is in. */
  private static JsonParser parser(UTF8String text) throws IOException {
    byte[] bytes = text.getBytes();
    for (int i = 0; i < Math.min(4, bytes.length); i++) {
      if (bytes[i] <= 0) {
        return FACTORY.createParser(text.toString());
      }
    }
    return FACTORY.createParser(bytes, 0, bytes.length);
  }

  /** Writes what begins at the parser's token, and stops at its end: members in their order, also of one name. */
  static void write(JsonParser at, StringBuilder to) throws IOException {
    switch (at.currentToken()) {
      case START_OBJECT -> {
        to.append('{');
        for (String sign = ""; at.nextToken() != JsonToken.END_OBJECT; sign = ",") {
          to.append(sign);
          quote(at.currentName(), to);
          to.append(':');
          at.nextToken();
          write(at, to);
        }
        to.append('}');
      }
      case START_ARRAY -> {
        to.append('[');
        for (String sign = ""; at.nextToken() != JsonToken.END_ARRAY; sign = ",") {
          to.append(sign);
          write(at, to);
        }
        to.append(']');
      }
      default -> scalar(at.currentToken(), at.getText(), to);
    }
  }

  private static void scalar(JsonToken token, String text, StringBuilder to) {
    switch (token) {
      case VALUE_STRING -> quote(text, to);
      case VALUE_NUMBER_INT -> to.append(whole(text));
      case VALUE_NUMBER_FLOAT -> to.append(DoubleToDecimal.toString(Double.parseDouble(text)));
      default -> to.append(text);
    }
  }

  /** A whole number as it is shown. */
  static String whole(String digits) {
    return "-0".equals(digits) ? "0" : digits;
  }

  /** As Jackson writes bytes: what is two characters in Java as two. */
  static void quote(String text, StringBuilder to) {
    to.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '"' -> to.append("\\\"");
        case '\\' -> to.append("\\\\");
        case '\b' -> to.append("\\b");
        case '\t' -> to.append("\\t");
        case '\n' -> to.append("\\n");
        case '\f' -> to.append("\\f");
        case '\r' -> to.append("\\r");
        default -> {
          if (c < ' ' || Character.isSurrogate(c)) {
            to.append("\\u");
            for (int shift = 12; shift >= 0; shift -= 4) {
              to.append(HEX.charAt(c >> shift & 15));
            }
          } else {
            to.append(c);
          }
        }
      }
    }
    to.append('"');
  }

  /** The same with members in the order of their names; of one name the last. */
  static void writeOrdered(JsonParser at, StringBuilder to) throws IOException {
    show(tree(at, true), to);
  }

  /** A value that is neither an object nor an array: its token and its text. */
  record Scalar(JsonToken token, String text) {}

  /** A map of an object, in the order of the names or of the text, a list of an array, or a {@link Scalar}. */
  static Object tree(JsonParser at, boolean ordered) throws IOException {
    switch (at.currentToken()) {
      case START_OBJECT -> {
        Map<String, Object> members = ordered ? new TreeMap<>(CODE_POINTS) : new LinkedHashMap<>();
        while (at.nextToken() != JsonToken.END_OBJECT) {
          String name = at.currentName();
          at.nextToken();
          members.put(name, tree(at, ordered));
        }
        return members;
      }
      case START_ARRAY -> {
        List<Object> values = new ArrayList<>();
        while (at.nextToken() != JsonToken.END_ARRAY) {
          values.add(tree(at, ordered));
        }
        return values;
      }
      default -> {
        return new Scalar(at.currentToken(), at.getText());
      }
    }
  }

  /** The JSON of a tree. */
  static String shown(Object tree) {
    StringBuilder text = new StringBuilder();
    show(tree, text);
    return text.toString();
  }

  private static void show(Object value, StringBuilder to) {
    if (value instanceof Map<?, ?> members) {
      String sign = "{";
      for (Map.Entry<?, ?> member : members.entrySet()) {
        to.append(sign);
        quote((String) member.getKey(), to);
        to.append(':');
        show(member.getValue(), to);
        sign = ",";
      }
      to.append(members.isEmpty() ? "{}" : "}");
    } else if (value instanceof List<?> values) {
      String sign = "[";
      for (Object each : values) {
        to.append(sign);
        show(each, to);
        sign = ",";
      }
      to.append(values.isEmpty() ? "[]" : "]");
    } else {
      Scalar scalar = (Scalar) value;
      scalar(scalar.token, scalar.text, to);
    }
  }

  /** Java compares halves of pairs of surrogates, which come before some single characters. */
  private static final Comparator<String> CODE_POINTS =
      (a, b) -> {
        for (int i = 0; i < Math.min(a.length(), b.length()); i++) {
          char x = a.charAt(i);
          char y = b.charAt(i);
          if (x != y) {
            boolean pair = Character.isSurrogate(x);
            return pair == Character.isSurrogate(y) ? Character.compare(x, y) : pair ? 1 : -1;
          }
        }
        return Integer.compare(a.length(), b.length());
      };
}
