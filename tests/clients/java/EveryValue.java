import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.Arrays;
import java.util.Properties;

/**
 * Parameters of every type, batches and counts of changed rows through a JDBC driver. Arguments: an address for JDBC
 * with catalog and schema, where the table t (id, n, b, r, d, q, s, raw, day, ts) is. Prints "step|answer".
 */
public final class EveryValue {
    private static final String[] COLUMNS = {"id", "n", "b", "r", "d", "q", "s", "raw", "day", "ts"};

    private interface Step {
        Object run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "java");
        try (Connection connection = DriverManager.getConnection(args[0], properties)) {
            writes(connection);
            reads(connection);
        }
        System.exit(0);
    }

    private static void writes(Connection connection) {
        print("insert", () -> {
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
                for (int i = 0; i < COLUMNS.length; i++) {
                    set(insert, i, i + 1);
                }
                return insert.executeUpdate();
            }
        });
        print("batch", () -> {
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO t (id, s) VALUES (?, ?)")) {
                for (int i = 10; i < 12; i++) {
                    insert.setLong(1, i);
                    insert.setString(2, "it's " + i);
                    insert.addBatch();
                }
                return Arrays.toString(insert.executeBatch());
            }
        });
        print("update", () -> {
            try (PreparedStatement update = connection.prepareStatement("UPDATE t SET s = ? WHERE id < ?")) {
                update.setString(1, "new");
                update.setLong(2, 100);
                return update.execute() + " " + update.getUpdateCount() + " " + update.getMoreResults();
            }
        });
    }

    private static void reads(Connection connection) {
        for (int i = 0; i < COLUMNS.length; i++) {
            int column = i;
            print("where " + COLUMNS[i], () -> {
                String sql = "SELECT count(*) FROM t WHERE " + COLUMNS[column] + " = ?";
                try (PreparedStatement select = connection.prepareStatement(sql)) {
                    set(select, column, 1);
                    return first(select);
                }
            });
        }
        print("limit", () -> {
            try (PreparedStatement select = connection.prepareStatement("SELECT id FROM t WHERE id < 100 ORDER BY id OFFSET ? LIMIT ?")) {
                select.setInt(1, 1);
                select.setLong(2, 1);
                return first(select);
            }
        });
        print("no query", () -> {
            try (Statement statement = connection.createStatement()) {
                return statement.executeUpdate("CREATE TABLE u (x integer)") + " " + statement.executeUpdate("DROP TABLE u");
            }
        });
        print("transaction", () -> {
            connection.setAutoCommit(false);
            try (PreparedStatement select = connection.prepareStatement("SELECT count(*) FROM t")) {
                Object count = first(select);
                connection.commit();
                return count;
            }
            finally {
                connection.setAutoCommit(true);
            }
        });
    }

    private static void set(PreparedStatement statement, int column, int at) throws SQLException {
        switch (column) {
            case 0: statement.setLong(at, 5_000_000_000L); break;
            case 1: statement.setInt(at, 7); break;
            case 2: statement.setBoolean(at, true); break;
            case 3: statement.setFloat(at, 0.1f); break;
            case 4: statement.setDouble(at, 2.5e-3); break;
            case 5: statement.setBigDecimal(at, new BigDecimal("1234.50")); break;
            case 6: statement.setString(at, "it's \u00e9?"); break;
            case 7: statement.setBytes(at, new byte[] {0, (byte) 255}); break;
            case 8: statement.setDate(at, Date.valueOf("2026-02-03")); break;
            default: statement.setTimestamp(at, Timestamp.valueOf("2026-02-03 04:05:06.007")); break;
        }
    }

    private static Object first(PreparedStatement select) throws SQLException {
        try (ResultSet rows = select.executeQuery()) {
            rows.next();
            return rows.getObject(1);
        }
    }

    private static void print(String name, Step step) {
        String answer;
        try {
            answer = String.valueOf(step.run());
        }
        catch (Exception e) {
            answer = "FAILED " + e;
        }
        System.out.println(name + "|" + answer);
    }
}
