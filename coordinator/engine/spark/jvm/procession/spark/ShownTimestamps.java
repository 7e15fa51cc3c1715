package procession.spark;

import java.io.Serializable;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.IsoFields;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Moments shown by a pattern: {@code DATE_FORMAT} and {@code FORMAT_DATETIME} of {@code
 * kernels/functions/date_formats.py}, for patterns without zones.
 */
public record ShownTimestamps(List<Part> parts, ZoneId zone) implements Serializable {
  private static final long MICROS = 1_000_000L;
  private static final int MOST_LETTERS = 100;
  private static final LocalDateTime FIRST = LocalDateTime.of(1, 1, 1, 0, 0);
  private static final LocalDateTime LAST = LocalDateTime.of(10_000, 1, 1, 0, 0);

  /** A letter with the width of what it shows, 0 for a name in full; or a text, of no letter. */
  record Part(char letter, int width, String text) implements Serializable {}

  /** Of a pattern of {@code DATE_FORMAT}; null of none, and of one with letters that Presto refuses. */
  static ShownTimestamps mysql(String pattern, String zone) {
    ZoneId id = zoneOf(zone);
    if (pattern == null || id == null) {
      return null;
    }
    List<Part> made = new ArrayList<>();
    int[] characters = pattern.codePoints().toArray();
    for (int i = 0; i < characters.length; i++) {
      if (characters[i] != '%' || i + 1 == characters.length) {
        made.add(new Part('\0', 0, Character.toString(characters[i])));
      } else if (!addMysql(characters[++i], made)) {
        return null;
      }
    }
    return new ShownTimestamps(List.copyOf(made), id);
  }

  private static boolean addMysql(int letter, List<Part> to) {
    switch (letter) {
      case 'D', 'U', 'u', 'V', 'w', 'X' -> {
        return false;
      }
      case 'a' -> to.add(new Part('E', 3, ""));
      case 'b' -> to.add(new Part('L', 3, ""));
      case 'c' -> to.add(new Part('M', 1, ""));
      case 'd' -> to.add(new Part('d', 2, ""));
      case 'e' -> to.add(new Part('d', 1, ""));
      case 'f' -> to.add(new Part('f', 6, ""));
      case 'H' -> to.add(new Part('H', 2, ""));
      case 'h', 'I' -> to.add(new Part('h', 2, ""));
      case 'i' -> to.add(new Part('m', 2, ""));
      case 'j' -> to.add(new Part('D', 3, ""));
      case 'k' -> to.add(new Part('H', 1, ""));
      case 'l' -> to.add(new Part('h', 1, ""));
      case 'M' -> to.add(new Part('L', 0, ""));
      case 'm' -> to.add(new Part('M', 2, ""));
      case 'p' -> to.add(new Part('a', 0, ""));
      case 'S', 's' -> to.add(new Part('s', 2, ""));
      case 'v' -> to.add(new Part('w', 2, ""));
      case 'W' -> to.add(new Part('E', 0, ""));
      case 'x' -> to.add(new Part('x', 4, ""));
      case 'Y' -> to.add(new Part('y', 4, ""));
      case 'y' -> to.add(new Part('y', 2, ""));
      case 'T' -> {
        return addAll("H2:m2:s2", to);
      }
      case 'r' -> {
        return addAll("h2:m2:s2 a0", to);
      }
      default -> to.add(new Part('\0', 0, Character.toString(letter)));
    }
    return true;
  }

  private static boolean addAll(String written, List<Part> to) {
    for (int i = 0; i < written.length(); i++) {
      char c = written.charAt(i);
      to.add(Character.isLetter(c) ? new Part(c, written.charAt(++i) - '0', "") : new Part('\0', 0, String.valueOf(c)));
    }
    return true;
  }

  /** Of a pattern of Joda's; null of none, and of one with zones, eras, or letters that it refuses. */
  static ShownTimestamps joda(String pattern, String zone) {
    ZoneId id = zoneOf(zone);
    if (pattern == null || id == null) {
      return null;
    }
    List<Part> made = new ArrayList<>();
    for (int i = 0; i < pattern.length(); ) {
      char c = pattern.charAt(i);
      int end = i + 1;
      if (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
        while (end < pattern.length() && pattern.charAt(end) == c) {
          end++;
        }
        Part part = end - i > MOST_LETTERS ? null : jodaPart(c, end - i);
        if (part == null) {
          return null;
        }
        made.add(part);
      } else if (c == '\'') {
        end = quoted(pattern, i, made);
        if (end < 0) {
          return null;
        }
      } else {
        made.add(new Part('\0', 0, String.valueOf(c)));
      }
      i = end;
    }
    return new ShownTimestamps(List.copyOf(made), id);
  }

  private static Part jodaPart(char letter, int count) {
    return switch (letter) {
      case 'y', 'Y' -> new Part('y', count, "");
      case 'x' -> new Part('x', count, "");
      case 'M' -> count >= 3 ? new Part('L', count > 3 ? 0 : 3, "") : new Part('M', count, "");
      case 'E' -> new Part('E', count > 3 ? 0 : 3, "");
      case 'S', 'a', 'd', 'D', 'e', 'H', 'h', 'K', 'k', 'm', 's', 'w', 'C' -> new Part(letter, count, "");
      default -> null;
    };
  }

  /** Adds the text between quotes; where it ends, -1 where it does not. */
  private static int quoted(String pattern, int start, List<Part> to) {
    StringBuilder text = new StringBuilder();
    for (int i = start + 1; i < pattern.length(); i++) {
      if (pattern.charAt(i) != '\'') {
        text.append(pattern.charAt(i));
      } else if (i + 1 < pattern.length() && pattern.charAt(i + 1) == '\'') {
        text.append('\'');
        i++;
      } else {
        to.add(new Part('\0', 0, i == start + 1 ? "'" : text.toString()));
        return i + 1;
      }
    }
    return -1;
  }

  static ZoneId zoneOf(String zone) {
    try {
      return "UTC".equals(zone) ? ZoneOffset.UTC : ZoneId.of(zone);
    } catch (java.time.DateTimeException unknown) {
      return null;
    }
  }

  public UTF8String date(int days) {
    return shown(LocalDate.ofEpochDay(days).atStartOfDay());
  }

  /** Of the wall's clock; a time that the zone's clocks leave out is as much later. */
  public UTF8String timestamp(long micros) {
    return shown(wall(micros));
  }

  /** Columns of timestamps are in UTC. */
  public UTF8String timestamp_with_time_zone(long micros) {
    return text(wall(micros));
  }

  private static LocalDateTime wall(long micros) {
    int nanos = (int) Math.floorMod(micros, MICROS) * 1000;
    return LocalDateTime.ofEpochSecond(Math.floorDiv(micros, MICROS), nanos, ZoneOffset.UTC);
  }

  private UTF8String shown(LocalDateTime moment) {
    return text(zone == ZoneOffset.UTC ? moment : moment.atZone(zone).toLocalDateTime());
  }

  private UTF8String text(LocalDateTime moment) {
    if (moment.isBefore(FIRST) || !moment.isBefore(LAST)) {
      return Failures.of(
          false, Failures.NOT_SUPPORTED, "Functions over dates and timestamps outside of the years 1 to 9999");
    }
    StringBuilder to = new StringBuilder();
    for (Part part : parts) {
      add(part, moment, to);
    }
    return UTF8String.fromString(to.toString());
  }

  private static void add(Part part, LocalDateTime at, StringBuilder to) {
    switch (part.letter) {
      case '\0' -> to.append(part.text);
      case 'y' -> year(at.getYear(), part.width, to);
      case 'x' -> year(at.get(IsoFields.WEEK_BASED_YEAR), part.width, to);
      case 'M' -> number(at.getMonthValue(), part.width, to);
      case 'L' -> name(TimestampReader.MONTHS.get(at.getMonthValue() - 1), part.width, to);
      case 'E' -> name(TimestampReader.DAYS.get(at.getDayOfWeek().getValue() - 1), part.width, to);
      case 'f' -> number(at.getNano() / 1000, 6, to);
      case 'S' -> fraction(at.getNano() / 1_000_000, part.width, to);
      case 'a' -> to.append(at.getHour() < 12 ? "AM" : "PM");
      case 'd' -> number(at.getDayOfMonth(), part.width, to);
      case 'D' -> number(at.getDayOfYear(), part.width, to);
      case 'e' -> number(at.getDayOfWeek().getValue(), part.width, to);
      case 'H' -> number(at.getHour(), part.width, to);
      case 'h' -> number(at.getHour() % 12 == 0 ? 12 : at.getHour() % 12, part.width, to);
      case 'K' -> number(at.getHour() % 12, part.width, to);
      case 'k' -> number(at.getHour() == 0 ? 24 : at.getHour(), part.width, to);
      case 'm' -> number(at.getMinute(), part.width, to);
      case 's' -> number(at.getSecond(), part.width, to);
      case 'w' -> number(at.get(IsoFields.WEEK_OF_WEEK_BASED_YEAR), part.width, to);
      default -> number(at.getYear() / 100, part.width, to);
    }
  }

  private static void year(int year, int width, StringBuilder to) {
    number(width == 2 ? year % 100 : year, width, to);
  }

  private static void number(int value, int width, StringBuilder to) {
    String digits = Integer.toString(value);
    for (int i = digits.length(); i < width; i++) {
      to.append('0');
    }
    to.append(digits);
  }

  private static void name(String name, int width, StringBuilder to) {
    to.append(width == 0 ? name : name.substring(0, width));
  }

  /** As many of the milliseconds' digits as there are letters, and zeros behind them. */
  private static void fraction(int millis, int width, StringBuilder to) {
    int start = to.length();
    number(millis, 3, to);
    to.setLength(start + Math.min(width, 3));
    for (int i = 3; i < width; i++) {
      to.append('0');
    }
  }
}
