package procession.spark;

import java.io.Serializable;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.time.temporal.IsoFields;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.spark.unsafe.types.UTF8String;

/** Timestamps read by a pattern of MySQL's: {@code DATE_PARSE} of {@code kernels/functions/date_formats.py}. */
public record TimestampReader(List<Part> parts, boolean attempt) implements Serializable {
  private static final long MICROS_A_DAY = 86_400_000_000L;
  static final List<String> MONTHS =
      List.of("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December");
  static final List<String> DAYS =
      List.of("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday");

  /** What a part of a pattern reads; the digits that it takes at most, or at least as well. */
  enum Field {
    LITERAL(0), YEAR(4), SHORT_YEAR(2), MONTH(2), DAY(2), HOUR(2), HOUR_OF_HALF(2), MINUTE(2), SECOND(2), FRACTION(9),
    HALF(0), MONTH_NAME(0), DAY_NAME(0), DAY_OF_YEAR(3), WEEK_YEAR(4), WEEK(2);

    private final int digits;

    Field(int digits) {
      this.digits = digits;
    }
  }

  record Part(Field field, String literal) implements Serializable {}

  /** Of a pattern of {@code DATE_PARSE}; null of none, and of one with letters that Presto refuses. */
  static TimestampReader mysql(String pattern, boolean attempt) {
    List<Part> parts = pattern == null ? null : mysql(pattern);
    return parts == null ? null : new TimestampReader(List.copyOf(parts), attempt);
  }

  private static List<Part> mysql(String pattern) {
    List<Part> made = new ArrayList<>();
    int[] characters = pattern.codePoints().toArray();
    for (int i = 0; i < characters.length; i++) {
      if (characters[i] != '%' || i + 1 == characters.length) {
        made.add(literal(characters[i]));
        continue;
      }
      switch (characters[++i]) {
        case 'D', 'U', 'u', 'V', 'w', 'X' -> {
          return null;
        }
        case 'T' -> made.addAll(mysql("%H:%i:%S"));
        case 'r' -> made.addAll(mysql("%I:%i:%S %p"));
        default -> made.add(part(characters[i]));
      }
    }
    return made;
  }

  private static Part literal(int character) {
    return new Part(Field.LITERAL, Character.toString(character));
  }

  private static Part part(int letter) {
    Field field =
        switch (letter) {
          case 'Y' -> Field.YEAR;
          case 'y' -> Field.SHORT_YEAR;
          case 'm', 'c' -> Field.MONTH;
          case 'd', 'e' -> Field.DAY;
          case 'H', 'k' -> Field.HOUR;
          case 'h', 'I', 'l' -> Field.HOUR_OF_HALF;
          case 'i' -> Field.MINUTE;
          case 's', 'S' -> Field.SECOND;
          case 'f' -> Field.FRACTION;
          case 'p' -> Field.HALF;
          case 'M', 'b' -> Field.MONTH_NAME;
          case 'W', 'a' -> Field.DAY_NAME;
          case 'j' -> Field.DAY_OF_YEAR;
          case 'x' -> Field.WEEK_YEAR;
          case 'v' -> Field.WEEK;
          default -> Field.LITERAL;
        };
    return field == Field.LITERAL ? literal(letter) : new Part(field, null);
  }

  /** Microseconds of the wall's clock; a text that is no moment by the pattern is an invalid argument. */
  public Long read(UTF8String given) {
    String text = given.toString();
    int[] found = new int[Field.values().length];
    boolean[] has = new boolean[found.length];
    int position = 0;
    for (Part part : parts) {
      int end = part.field == Field.LITERAL ? literalEnd(text, position, part.literal) : end(text, position, part.field);
      if (end < 0) {
        return malformed(text, position);
      }
      if (part.field != Field.LITERAL) {
        found[part.field.ordinal()] = value(text.substring(position, end), part.field);
        has[part.field.ordinal()] = true;
      }
      position = end;
    }
    if (position < text.length()) {
      return malformed(text, position);
    }
    try {
      return micros(found, has);
    } catch (DateTimeException unknown) {
      return Failures.of(attempt, Failures.INVALID, "Cannot parse \"" + text + "\": " + unknown.getMessage());
    }
  }

  private static int literalEnd(String text, int position, String literal) {
    int end = Math.min(position + literal.length(), text.length());
    String there = text.substring(position, end);
    return there.equals(literal) || there.toLowerCase(Locale.ROOT).equals(literal.toLowerCase(Locale.ROOT)) ? end : -1;
  }

  /** Where the field ends that begins at {@code position}; -1 where there is none. */
  private static int end(String text, int position, Field field) {
    switch (field) {
      case HALF:
        boolean half = position + 2 <= text.length() && "ap".indexOf(lower(text, position)) >= 0;
        return half && lower(text, position + 1) == 'm' ? position + 2 : -1;
      case MONTH_NAME:
        return nameEnd(text, position, MONTHS);
      case DAY_NAME:
        return nameEnd(text, position, DAYS);
      default:
        boolean signs = field == Field.YEAR || field == Field.WEEK_YEAR;
        boolean signed = signs && position < text.length() && "+-".indexOf(text.charAt(position)) >= 0;
        int start = signed ? position + 1 : position;
        int end = start;
        while (end < text.length() && end - start < field.digits && isDigit(text.charAt(end))) {
          end++;
        }
        int least = field == Field.SHORT_YEAR ? 2 : 1;
        return end - start >= least ? end : -1;
    }
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static char lower(String text, int place) {
    char c = text.charAt(place);
    return c >= 'A' && c <= 'Z' ? (char) (c + 32) : c;
  }

  private static int nameEnd(String text, int position, List<String> names) {
    int best = -1;
    for (String name : names) {
      for (int length : new int[] {3, name.length()}) {
        if (length > best - position && text.regionMatches(true, position, name, 0, length)) {
          best = Math.max(best, position + length);
        }
      }
    }
    return best;
  }

  private static int value(String text, Field field) {
    switch (field) {
      case HALF:
        return Character.toLowerCase(text.charAt(0)) == 'p' ? 12 : 0;
      case MONTH_NAME:
        for (int i = 0; i < MONTHS.size(); i++) {
          if (MONTHS.get(i).regionMatches(true, 0, text, 0, 3)) {
            return i + 1;
          }
        }
        return 0;
      case DAY_NAME:
        return 0;
      case FRACTION:
        return Integer.parseInt((text + "00").substring(0, 3));
      default:
        return Integer.parseInt(text);
    }
  }

  private static long micros(int[] found, boolean[] has) {
    int year = has[Field.YEAR.ordinal()] ? found[Field.YEAR.ordinal()] : either(Field.WEEK_YEAR, found, has, 1970);
    if (has[Field.SHORT_YEAR.ordinal()]) {
      int last = found[Field.SHORT_YEAR.ordinal()];
      year = last + (last < 70 ? 2000 : 1900);
    }
    int month = has[Field.MONTH_NAME.ordinal()] ? found[Field.MONTH_NAME.ordinal()] : either(Field.MONTH, found, has, 1);
    check(year, "year", 1, 9999);
    check(month, "monthOfYear", 1, 12);
    LocalDate day = LocalDate.of(year, month, 1);
    day = day.withDayOfMonth(check(either(Field.DAY, found, has, 1), "dayOfMonth", 1, day.lengthOfMonth()));
    if (has[Field.DAY_OF_YEAR.ordinal()]) {
      LocalDate first = LocalDate.of(year, 1, 1);
      day = first.withDayOfYear(check(found[Field.DAY_OF_YEAR.ordinal()], "dayOfYear", 1, first.lengthOfYear()));
    }
    if (has[Field.WEEK.ordinal()]) {
      LocalDate inWeek = LocalDate.of(year, 1, 4);
      long weeks = IsoFields.WEEK_OF_WEEK_BASED_YEAR.rangeRefinedBy(inWeek).getMaximum();
      int week = check(found[Field.WEEK.ordinal()], "weekOfWeekyear", 1, (int) weeks);
      day = inWeek.minusDays(inWeek.getDayOfWeek().getValue() - 1L).plus(week - 1L, ChronoUnit.WEEKS);
      check(day.getYear(), "year", 1, 9999);
    }
    int hour = check(either(Field.HOUR, found, has, 0), "hourOfDay", 0, 23);
    if (has[Field.HOUR_OF_HALF.ordinal()]) {
      int ofHalf = check(found[Field.HOUR_OF_HALF.ordinal()], "clockhourOfHalfday", 1, 12);
      hour = ofHalf % 12 + either(Field.HALF, found, has, 0);
    }
    int minute = check(either(Field.MINUTE, found, has, 0), "minuteOfHour", 0, 59);
    int second = check(either(Field.SECOND, found, has, 0), "secondOfMinute", 0, 59);
    long millis = ((hour * 60L + minute) * 60 + second) * 1000 + either(Field.FRACTION, found, has, 0);
    return day.toEpochDay() * MICROS_A_DAY + millis * 1000;
  }

  private static int either(Field field, int[] found, boolean[] has, int otherwise) {
    return has[field.ordinal()] ? found[field.ordinal()] : otherwise;
  }

  /** The value; in Joda's words why it is none. */
  private static int check(int value, String field, int least, int most) {
    if (value < least || value > most) {
      throw new DateTimeException("Value " + value + " for " + field + " must be in the range [" + least + "," + most + "]");
    }
    return value;
  }

  /** Joda's text, which says where reading stopped and shows a little of what is there. */
  private Long malformed(String text, int end) {
    boolean whole = text.codePointCount(end, text.length()) <= 35;
    String shown = whole ? text : text.substring(0, text.offsetByCodePoints(end, 32)) + "...";
    String why = end >= text.length() ? "too short" : "malformed at \"" + shown.substring(end) + "\"";
    return Failures.of(
        attempt, Failures.INVALID, "Invalid format: \"" + shown + "\"" + (end == 0 ? "" : " is " + why));
  }
}
