import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

/** What users of the drivers of both families get of statements that are no queries. */
public final class CallProbe {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "java");
        for (String kind : new String[] {"presto", "trino"}) {
            String address = "jdbc:" + kind + "://" + args[0] + "/iceberg/db";
            try (Connection connection = DriverManager.getConnection(address, properties)) {
                System.out.println(kind + " " + connection.getMetaData().getDatabaseProductVersion());
                for (String sql : new String[] {"CALL show", "CREATE", "DELETE FROM t"}) {
                    System.out.println(kind + " " + sql + ": " + told(connection, sql));
                }
            }
        }
        // The drivers' HTTP threads would keep the JVM for another minute.
        System.exit(0);
    }

    private static String told(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            if (!statement.execute(sql)) {
                return "count " + statement.getUpdateCount();
            }
            StringBuilder found = new StringBuilder("rows");
            try (ResultSet rows = statement.getResultSet()) {
                while (rows.next()) {
                    found.append(' ').append(rows.getString(1));
                }
            }
            return found.toString();
        }
    }
}
