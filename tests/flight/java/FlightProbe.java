import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;

/** What the Flight SQL JDBC driver makes of a server: one line for each thing asked. */
public final class FlightProbe {
    private FlightProbe() {}

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            DatabaseMetaData data = connection.getMetaData();
            System.out.println("product " + data.getDatabaseProductName());
            System.out.println("catalogs " + rows(data.getCatalogs()));
            System.out.println("schemas " + rows(data.getSchemas("tpch", "ti%")));
            System.out.println("tables " + rows(data.getTables("tpch", "tiny", "na%", null)));
            System.out.println("columns " + rows(data.getColumns("tpch", "tiny", "region", "%")));
            try (Statement statement = connection.createStatement();
                    ResultSet found = statement.executeQuery(
                            "SELECT nationkey, name, DECIMAL '1.50', DATE '2020-01-02', true FROM tpch.tiny.nation"
                                    + " ORDER BY 1 LIMIT 2")) {
                System.out.println("query " + rows(found));
            }
            try (PreparedStatement statement =
                    connection.prepareStatement("SELECT name FROM tpch.tiny.nation WHERE nationkey = ?")) {
                statement.setLong(1, 3);
                System.out.println("prepared " + rows(statement.executeQuery()));
            }
            try (Statement statement = connection.createStatement()) {
                System.out.println("update " + statement.executeUpdate("CREATE SCHEMA iceberg.of_jdbc"));
            }
            try (Statement statement = connection.createStatement()) {
                statement.executeQuery("SELECT nope");
            } catch (SQLException error) {
                System.out.println("error " + error.getMessage().replace('\n', ' '));
            }
        }
    }

    private static String rows(ResultSet found) throws SQLException {
        ResultSetMetaData columns = found.getMetaData();
        StringBuilder text = new StringBuilder();
        while (found.next()) {
            for (int i = 1; i <= Math.min(columns.getColumnCount(), 6); i++) {
                text.append(i == 1 ? "[" : ",").append(found.getObject(i));
            }
            text.append("]");
        }
        found.close();
        return text.toString();
    }
}
