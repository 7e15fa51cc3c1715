package procession.spark;

import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What the coordinator asks of texts before Spark casts or trims them ({@code unparser/casts.py}), without a regular
 * expression where the text is as most are. Each method answers as its pattern does for every text.
 */
public final class Texts {
  /** The patterns, which {@code GUARDED} of the coordinator has in the same words. */
  static final String NUMBER = "^([^iInN]*|[\\x00-\\x20]*[+-]?(Infinity|NaN)[\\x00-\\x20]*)\\z";
  static final String DECIMAL = "^[+-]?(\\p{Nd}+\\.?\\p{Nd}*|\\.\\p{Nd}+)([eE][+-]?\\p{Nd}+)?\\z";
  static final String DATE = "^\\s*[+-]?\\d{1,6}-\\d{1,2}-\\d{1,2}\\s*\\z";
  static final String TIMESTAMP =
      "^\\s*[+-]?\\d{1,6}-\\d{1,2}-\\d{1,2}([ T]\\d{1,2}:.*|\\s*[A-Za-z+-][\\w/+:-]*)?\\s*\\z";

  private static final Pattern NUMBERS = Pattern.compile(NUMBER);
  private static final Pattern DECIMALS = Pattern.compile(DECIMAL);
  private static final Pattern DATES = Pattern.compile(DATE);
  private static final Pattern TIMESTAMPS = Pattern.compile(TIMESTAMP);
  private static final String DAY = "dddd-dd-dd";
  private static final String MINUTE = "dddd-dd-dd dd:";
  /** Longer ones are left to the pattern, which reads them once, too. */
  private static final int MOST_SCANNED = 64;

  private Texts() {}

  public static boolean number(UTF8String text) {
    int size = text.numBytes();
    for (int i = 0; i < size; i++) {
      int letter = text.getByte(i) | 0x20;
      if (letter == 'i' || letter == 'n') {
        return found(NUMBERS, text);
      }
    }
    return true;
  }

  public static boolean decimal(UTF8String text) {
    int size = text.numBytes();
    int at = size > 0 && (text.getByte(0) == '-' || text.getByte(0) == '+') ? 1 : 0;
    int end = digits(text, at, size);
    if (end > at && end < size && text.getByte(end) == '.') {
      end = digits(text, end + 1, size);
    }
    return (end > at && end == size) || found(DECIMALS, text);
  }

  private static int digits(UTF8String text, int start, int size) {
    int at = start;
    while (at < size && text.getByte(at) >= '0' && text.getByte(at) <= '9') {
      at++;
    }
    return at;
  }

  public static boolean date(UTF8String text) {
    return (text.numBytes() == DAY.length() && begins(text, DAY)) || found(DATES, text);
  }

  public static boolean timestamp(UTF8String text) {
    int size = text.numBytes();
    if (size == DAY.length() && begins(text, DAY)) {
      return true;
    }
    boolean plain = size >= MINUTE.length() && size <= MOST_SCANNED && begins(text, MINUTE);
    for (int i = MINUTE.length(); plain && i < size; i++) {
      plain = text.getByte(i) >= ' ';
    }
    return plain || found(TIMESTAMPS, text);
  }

  /** Whether a text has digits where the form has a {@code d}, and what the form has elsewhere; a T for its blank. */
  private static boolean begins(UTF8String text, String form) {
    for (int i = 0; i < form.length(); i++) {
      byte there = text.getByte(i);
      char wanted = form.charAt(i);
      boolean same = wanted == 'd' ? there >= '0' && there <= '9' : there == wanted || (wanted == ' ' && there == 'T');
      if (!same) {
        return false;
      }
    }
    return true;
  }

  private static boolean found(Pattern pattern, UTF8String text) {
    return pattern.matcher(text.toString()).find();
  }

  /** Trims all of {@code blanks}, none of which is a visible letter of ASCII. */
  public static UTF8String trim(UTF8String text, UTF8String blanks) {
    return startsVisibly(text) && endsVisibly(text) ? text : text.trim(blanks);
  }

  public static UTF8String trimLeft(UTF8String text, UTF8String blanks) {
    return startsVisibly(text) ? text : text.trimLeft(blanks);
  }

  public static UTF8String trimRight(UTF8String text, UTF8String blanks) {
    return endsVisibly(text) ? text : text.trimRight(blanks);
  }

  /** Whether nothing visible of ASCII is in what is trimmed. */
  static boolean isBlank(UTF8String blanks) {
    return blanks.toString().chars().noneMatch(letter -> letter > ' ' && letter < 0x7f);
  }

  private static boolean startsVisibly(UTF8String text) {
    return text.numBytes() > 0 && isVisible(text.getByte(0));
  }

  private static boolean endsVisibly(UTF8String text) {
    return text.numBytes() > 0 && isVisible(text.getByte(text.numBytes() - 1));
  }

  private static boolean isVisible(byte letter) {
    return letter > ' ' && letter < 0x7f;
  }
}
