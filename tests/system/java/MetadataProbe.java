import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** Asks what DBeaver and Metabase ask of presto-jdbc's DatabaseMetaData; prints each answer's rows as one line. */
public final class MetadataProbe {
    private interface Question {
        ResultSet ask() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "java");
        try (Connection connection = DriverManager.getConnection("jdbc:presto://" + args[0] + "/tpch/tiny", properties)) {
            DatabaseMetaData meta = connection.getMetaData();
            print("catalogs", 1, meta::getCatalogs);
            print("schemas", 2, meta::getSchemas);
            print("schemas like", 2, () -> meta.getSchemas("tpch", "t%"));
            print("tables", 4, () -> meta.getTables("tpch", "tiny", "%", null));
            print("tables escaped", 4, () -> meta.getTables("iceberg", "db", "with\\_underscore", new String[] {"TABLE"}));
            print("views", 4, () -> meta.getTables("iceberg", null, null, new String[] {"VIEW"}));
            print("columns", 24, () -> meta.getColumns("tpch", "tiny", "region", "%"));
            print("columns like", 7, () -> meta.getColumns("iceberg", "db", "with\\_underscore", null));
            print("column", 4, () -> meta.getColumns("tpch", "tiny", "orders", "o_order%"));
            print("table types", 1, meta::getTableTypes);
            print("type info", 2, meta::getTypeInfo);
            print("procedures", 3, () -> meta.getProcedures("iceberg", "system", "rollback%"));
            print("procedure columns", 5, () -> meta.getProcedureColumns("iceberg", "system", "rollback\\_to\\_snapshot", null));
            print("attributes", 1, () -> meta.getAttributes(null, null, null, null));
            print("udts", 1, () -> meta.getUDTs(null, null, null, null));
            print("super types", 1, () -> meta.getSuperTypes(null, null, null));
            print("super tables", 1, () -> meta.getSuperTables(null, null, null));
            print("pseudo columns", 1, () -> meta.getPseudoColumns(null, null, null, null));
        }
        System.exit(0);
    }

    private static void print(String name, int columns, Question question) throws Exception {
        List<String> rows = new ArrayList<>();
        try (ResultSet answer = question.ask()) {
            while (answer.next()) {
                List<String> cells = new ArrayList<>();
                for (int i = 1; i <= columns; i++) {
                    cells.add(String.valueOf(answer.getObject(i)));
                }
                rows.add(String.join(",", cells));
            }
        }
        System.out.println(name + "|" + String.join(";", rows));
    }
}
