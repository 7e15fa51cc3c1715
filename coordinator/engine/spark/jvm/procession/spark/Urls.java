package procession.spark;

import java.io.ByteArrayOutputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/** Parts of URLs: {@code kernels/functions/urls.py}. What is no URL has none. */
public record Urls(boolean attempt) implements Serializable {
  private static final String SIGNS = "_.~!$&'()*+,;=:@/?#[]-";
  private static final int MOST_DIGITS = 18;

  /** RFC 3986, appendix B; null of a part that is not there. */
  private record Parts(String protocol, String authority, String path, String query, String fragment) {}

  private static Parts parts(UTF8String given) {
    String url = given.toString();
    if (!isLegal(url)) {
      return null;
    }
    int colon = schemeEnd(url);
    String protocol = colon < 0 ? null : url.substring(0, colon);
    String rest = url.substring(colon + 1);
    if (protocol != null && rest.isEmpty()) {
      return null;
    }
    String authority = null;
    if (rest.startsWith("//")) {
      int end = first(rest, 2, "/?#");
      authority = rest.substring(2, end);
      rest = rest.substring(end);
    }
    int path = first(rest, 0, "?#");
    int query = first(rest, path, "#");
    return new Parts(
        protocol, authority, rest.substring(0, path),
        path < query ? rest.substring(path + 1, query) : null,
        query < rest.length() ? rest.substring(query + 1) : null);
  }

  private static int first(String text, int from, String signs) {
    for (int i = from; i < text.length(); i++) {
      if (signs.indexOf(text.charAt(i)) >= 0) {
        return i;
      }
    }
    return text.length();
  }

  private static boolean isLegal(String url) {
    for (int i = 0; i < url.length(); i++) {
      char c = url.charAt(i);
      if (c == '%') {
        if (i + 2 >= url.length() || !isHex(url.charAt(i + 1)) || !isHex(url.charAt(i + 2))) {
          return false;
        }
      } else if (c < 128 ? !isLetterOrDigit(c) && SIGNS.indexOf(c) < 0 : isBlank(c)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isBlank(char c) {
    return c == 0x85 || Character.isSpaceChar(c) || Character.isWhitespace(c);
  }

  private static boolean isHex(char c) {
    return Character.digit(c, 16) >= 0 && c < 128;
  }

  private static boolean isLetter(char c) {
    return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static boolean isLetterOrDigit(char c) {
    return isLetter(c) || isDigit(c);
  }

  private static int schemeEnd(String url) {
    for (int i = 0; i < url.length(); i++) {
      char c = url.charAt(i);
      if (c == ':' && i > 0) {
        return i;
      }
      if (!isLetter(c) && (i == 0 || !isDigit(c) && "+.-".indexOf(c) < 0)) {
        return -1;
      }
    }
    return -1;
  }

  public UTF8String protocol(UTF8String url) {
    Parts found = parts(url);
    return found == null ? null : text(found.protocol, false);
  }

  public UTF8String path(UTF8String url) {
    Parts found = parts(url);
    return found == null ? null : text(found.path, true);
  }

  public UTF8String query(UTF8String url) {
    Parts found = parts(url);
    return found == null ? null : text(found.query, true);
  }

  public UTF8String fragment(UTF8String url) {
    Parts found = parts(url);
    return found == null ? null : text(found.fragment, true);
  }

  private static UTF8String text(String part, boolean decoded) {
    return UTF8String.fromString(part == null ? "" : decoded ? unquoted(part) : part);
  }

  public UTF8String host(UTF8String url) {
    Parts found = parts(url);
    String[] server = found == null ? null : server(found.authority);
    return found == null ? null : UTF8String.fromString(server == null ? "" : server[0]);
  }

  public Long port(UTF8String url) {
    Parts found = parts(url);
    String[] server = found == null ? null : server(found.authority);
    if (server == null || server[1].isEmpty()) {
      return null;
    }
    if (server[1].length() > MOST_DIGITS) {
      return Failures.of(attempt, Failures.OUT_OF_RANGE, "Value out of range for bigint");
    }
    return Long.valueOf(server[1]);
  }

  /** The host and the port of an authority, which may be empty; null of what is neither. */
  private static String[] server(String authority) {
    if (authority == null) {
      return null;
    }
    String there = authority.substring(authority.indexOf('@') + 1);
    int end = 0;
    if (there.startsWith("[")) {
      end = there.indexOf(']') + 1;
      if (end < 3 || !there.substring(1, end - 1).chars().allMatch(c -> isHex((char) c) || c == ':' || c == '.')) {
        return null;
      }
    } else {
      while (end < there.length() && (isLetterOrDigit(there.charAt(end)) || ".-".indexOf(there.charAt(end)) >= 0)) {
        end++;
      }
    }
    String rest = there.substring(end);
    boolean port = rest.startsWith(":") && rest.chars().skip(1).allMatch(c -> isDigit((char) c));
    return rest.isEmpty() || port ? new String[] {there.substring(0, end), port ? rest.substring(1) : ""} : null;
  }

  /** The value of the query's first parameter of that name. */
  public UTF8String parameter(UTF8String url, UTF8String name) {
    Parts found = parts(url);
    if (found == null || found.query == null) {
      return null;
    }
    String wanted = name.toString();
    for (String pair : found.query.split("&", -1)) {
      int sign = pair.indexOf('=');
      if (wanted.equals(sign < 0 ? pair : pair.substring(0, sign))) {
        return UTF8String.fromString(unquoted(sign < 0 ? "" : pair.substring(sign + 1).replace('+', ' ')));
      }
    }
    return null;
  }

  /** What is written as {@code %} and two digits is a byte of UTF-8, in runs of ASCII. */
  private static String unquoted(String text) {
    if (text.indexOf('%') < 0) {
      return text;
    }
    StringBuilder made = new StringBuilder();
    ByteArrayOutputStream run = new ByteArrayOutputStream();
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '%') {
        run.write(Character.digit(text.charAt(i + 1), 16) << 4 | Character.digit(text.charAt(i + 2), 16));
        i += 2;
      } else if (c < 128) {
        run.write(c);
      } else {
        made.append(decoded(run)).append(c);
        run.reset();
      }
    }
    return made.append(decoded(run)).toString();
  }

  /** Of bytes that are no UTF-8 each that begins nothing is one sign, and so is each of a surrogate. */
  private static String decoded(ByteArrayOutputStream run) {
    byte[] bytes = run.toByteArray();
    for (int i = 0; i + 2 < bytes.length; i++) {
      if (bytes[i] == (byte) 0xED && (bytes[i + 1] & 0xE0) == 0xA0 && (bytes[i + 2] & 0xC0) == 0x80) {
        Arrays.fill(bytes, i, i + 3, (byte) 0xFF);
      }
    }
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
