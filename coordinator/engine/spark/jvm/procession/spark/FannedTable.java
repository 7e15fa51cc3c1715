package procession.spark;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.metrics.MetricsReporter;
import org.apache.iceberg.types.Type.TypeID;

/**
 * A table whose writers keep a file open for each partition where Spark sorts otherwise than Iceberg tells partitions
 * apart: the zeros of a double are one to it, and UUIDs are texts. A writer of sorted rows would fail there, and an
 * UPDATE or MERGE takes no option that says so.
 */
final class FannedTable extends BaseTable {
  private static final long serialVersionUID = 1;
  private static final String FANOUT = TableProperties.SPARK_WRITE_PARTITIONED_FANOUT_ENABLED;
  private static final Set<TypeID> OTHERWISE = Set.of(TypeID.FLOAT, TypeID.DOUBLE, TypeID.UUID);

  private final transient BooleanSupplier writes;

  FannedTable(TableOperations operations, String name, MetricsReporter reporter, BooleanSupplier writes) {
    super(operations, name, reporter);
    this.writes = writes;
  }

  @Override
  public Map<String, String> properties() {
    Map<String, String> own = super.properties();
    if (own.containsKey(FANOUT) || !writes.getAsBoolean() || !isSortedOtherwise()) {
      return own;
    }
    Map<String, String> fanned = new HashMap<>(own);
    fanned.put(FANOUT, "true");
    return fanned;
  }

  private boolean isSortedOtherwise() {
    return spec().fields().stream()
        .map(field -> schema().findType(field.sourceId()))
        .anyMatch(source -> source != null && OTHERWISE.contains(source.typeId()));
  }
}
