package procession.spark;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/** What a path of JSON leads to that has no wildcards: {@code kernels/functions/json_functions.py}. */
public record JsonPath(List<String> names, List<Integer> places) implements Serializable {
  private static final Pattern STEP =
      Pattern.compile("\\.([^.\\[\\]\"'*]+)|\\.?\\[(?:\"([^\"\\\\]*)\"|'([^'\\\\]*)'|(\\d{1,9}))\\]");
  private static final int NO_PLACE = -1;

  /** The path of a text; null of one that only the kernels read. */
  static JsonPath of(String text) {
    if (text == null || text.isEmpty() || text.length() > 1000) {
      return null;
    }
    String path = text.startsWith("$") ? text.substring(1) : text.startsWith("[") ? text : "." + text;
    List<String> names = new ArrayList<>();
    Matcher step = STEP.matcher(path);
    int position = 0;
    while (position < path.length()) {
      if (!step.region(position, path.length()).lookingAt()) {
        return null;
      }
      String quoted = step.group(2) != null ? step.group(2) : step.group(3);
      String name = step.group(1) != null ? step.group(1) : quoted;
      names.add(name != null ? name : Integer.toString(Integer.parseInt(step.group(4))));
      position = step.end();
    }
    // Digits of other scripts are places of arrays, too.
    boolean plain = names.stream().flatMapToInt(String::chars).noneMatch(c -> c > 127 && !Character.isLetter(c));
    return plain ? new JsonPath(List.copyOf(names), names.stream().map(JsonPath::place).toList()) : null;
  }

  private static int place(String name) {
    return name.matches("[0-9]{1,9}") ? Integer.parseInt(name) : NO_PLACE;
  }

  /** Its text; null of null, objects, arrays, and where there is nothing. */
  public UTF8String scalar(UTF8String json) {
    String[] found = new String[1];
    Boolean read = JsonTexts.read(json, at -> walk(at, 0, here -> found[0] = text(here)));
    return read == null || found[0] == null ? null : UTF8String.fromString(found[0]);
  }

  private static String text(JsonParser at) throws IOException {
    return switch (at.currentToken()) {
      case VALUE_NUMBER_INT -> JsonTexts.whole(at.getText());
      case VALUE_STRING, VALUE_NUMBER_FLOAT, VALUE_TRUE, VALUE_FALSE -> at.getText();
      default -> {
        at.skipChildren();
        yield null;
      }
    };
  }

  /** Its JSON; null where there is nothing. */
  public UTF8String extract(UTF8String json) {
    StringBuilder found = new StringBuilder();
    Boolean read = JsonTexts.read(json, at -> walk(at, 0, here -> JsonTexts.write(here, found)));
    return read == null || !read ? null : UTF8String.fromString(found.toString());
  }

  /** How many members or values it has; null where there is nothing. */
  public Long size(UTF8String json) {
    long[] found = new long[1];
    Boolean read = JsonTexts.read(json, at -> walk(at, 0, here -> found[0] = count(here)));
    return read == null || !read ? null : (Long) found[0];
  }

  private static long count(JsonParser at) throws IOException {
    long found = 0;
    boolean members = at.currentToken() == JsonToken.START_OBJECT;
    if (members || at.currentToken() == JsonToken.START_ARRAY) {
      JsonToken end = members ? JsonToken.END_OBJECT : JsonToken.END_ARRAY;
      while (at.nextToken() != end) {
        if (members) {
          at.nextToken();
        }
        at.skipChildren();
        found++;
      }
    }
    return found;
  }

  private interface Found {
    void at(JsonParser place) throws IOException;
  }

  /** Reads what begins at the parser's token to its end; whether the path leads anywhere in it. */
  private boolean walk(JsonParser at, int step, Found found) throws IOException {
    if (step == names.size()) {
      found.at(at);
      return true;
    }
    return switch (at.currentToken()) {
      case START_OBJECT -> walkMembers(at, step, found);
      case START_ARRAY -> walkValues(at, step, found);
      default -> false;
    };
  }

  private boolean walkMembers(JsonParser at, int step, Found found) throws IOException {
    boolean met = false;
    boolean any = false;
    while (at.nextToken() != JsonToken.END_OBJECT) {
      boolean wanted = !met && names.get(step).equals(at.currentName());
      at.nextToken();
      if (wanted) { // of one name the first
        met = true;
        any = walk(at, step + 1, found);
      } else {
        at.skipChildren();
      }
    }
    return any;
  }

  private boolean walkValues(JsonParser at, int step, Found found) throws IOException {
    boolean any = false;
    for (int place = 0; at.nextToken() != JsonToken.END_ARRAY; place++) {
      if (place == places.get(step)) {
        any = walk(at, step + 1, found);
      } else {
        at.skipChildren();
      }
    }
    return any;
  }
}
