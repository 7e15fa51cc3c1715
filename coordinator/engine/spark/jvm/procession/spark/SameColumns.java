package procession.spark;

import java.util.Map;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/**
 * Whether files that were written for a table can be read as it is now.
 *
 * <p>A table that was replaced keeps the ids of columns by their names, whatever their types: Iceberg would add files
 * of a write that began before, and nobody could read them.
 */
final class SameColumns {
  private SameColumns() {}

  /** {@code written} are the metadata that a write began with, {@code base} those that it is to be committed to. */
  static void check(TableMetadata written, TableMetadata base) {
    if (written == null || base == null || written.currentSchemaId() == base.currentSchemaId()) {
      return;
    }
    Map<Integer, Types.NestedField> columns = TypeUtil.indexById(base.schema().asStruct());
    for (Types.NestedField column : TypeUtil.indexById(written.schema().asStruct()).values()) {
      Types.NestedField now = columns.get(column.fieldId());
      if (now != null && !isReadAs(column.type(), now.type())) {
        String types = column.type() + " then, " + now.type() + " now";
        throw new ValidationException(
            "Found conflicting commits: the table was replaced, %s was %s", now.name(), types);
      }
    }
  }

  private static boolean isReadAs(Type written, Type now) {
    if (written.isPrimitiveType() && now.isPrimitiveType()) {
      return TypeUtil.isPromotionAllowed(written, now.asPrimitiveType());
    }
    return written.typeId() == now.typeId();
  }
}
