package procession.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** Spark has no type for UUIDs: a table that it makes has texts where the coordinator wants some. */
final class UuidColumns {
  private final Set<String> places;

  private UuidColumns(Set<String> places) {
    this.places = places;
  }

  /**
   * The schema with UUIDs in {@code places}: numbers of fields from 0, separated by commas, and behind a slash those of
   * the fields, elements, keys (0) and values (1) inside.
   */
  static Schema made(Schema plain, String places) {
    return new Schema(new UuidColumns(Set.of(places.split(","))).fields(plain.columns(), ""));
  }

  private List<Types.NestedField> fields(List<Types.NestedField> plain, String before) {
    List<Types.NestedField> made = new ArrayList<>();
    for (Types.NestedField field : plain) {
      Type type = type(field.type(), before + made.size());
      made.add(Types.NestedField.from(field).ofType(type).build());
    }
    return made;
  }

  private Type type(Type plain, String place) {
    if (places.contains(place)) {
      if (plain.typeId() != Type.TypeID.STRING) {
        throw new IllegalArgumentException("No UUIDs are made of type " + plain);
      }
      return Types.UUIDType.get();
    }
    switch (plain.typeId()) {
      case STRUCT:
        return Types.StructType.of(fields(plain.asStructType().fields(), place + "/"));
      case LIST:
        Types.ListType list = plain.asListType();
        Type element = type(list.elementType(), place + "/0");
        return list.isElementOptional()
            ? Types.ListType.ofOptional(list.elementId(), element)
            : Types.ListType.ofRequired(list.elementId(), element);
      case MAP:
        Types.MapType map = plain.asMapType();
        Type key = type(map.keyType(), place + "/0");
        Type value = type(map.valueType(), place + "/1");
        return map.isValueOptional()
            ? Types.MapType.ofOptional(map.keyId(), map.valueId(), key, value)
            : Types.MapType.ofRequired(map.keyId(), map.valueId(), key, value);
      default:
        return plain;
    }
  }
}
