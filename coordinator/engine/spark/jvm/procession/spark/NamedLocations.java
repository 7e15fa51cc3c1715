package procession.spark;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.io.LocationProvider;

/**
 * The table's own locations. The number that Spark draws for a write, which names its files, is replaced by the
 * write's: all else stays as it would be.
 */
final class NamedLocations implements LocationProvider {
  private static final long serialVersionUID = 1;
  private static final Pattern DRAWN =
      Pattern.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");

  private final LocationProvider plain;
  private final String write;

  NamedLocations(LocationProvider plain, String write) {
    this.plain = plain;
    this.write = write;
  }

  @Override
  public String newDataLocation(String file) {
    return plain.newDataLocation(named(file));
  }

  @Override
  public String newDataLocation(PartitionSpec spec, StructLike partition, String file) {
    return plain.newDataLocation(spec, partition, named(file));
  }

  private String named(String file) {
    if (Writes.isEnded(write)) {
      throw new IllegalStateException("The write was given up");
    }
    Matcher drawn = DRAWN.matcher(file);
    return drawn.find() ? file.substring(0, drawn.start()) + write + file.substring(drawn.end()) : appended(file, write);
  }

  /** Before the extension, where it is unique as the name was. */
  static String appended(String file, String write) {
    int dot = file.lastIndexOf('.');
    return dot < 0 ? file + "-" + write : file.substring(0, dot) + "-" + write + file.substring(dot);
  }
}
