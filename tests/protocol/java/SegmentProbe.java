import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;

/** Reads the same statement in each encoding of Trino's spooling protocol. */
public class SegmentProbe {
    public static void main(String[] arguments) throws Exception {
        for (int i = 1; i < arguments.length; i++) {
            String encoding = URLEncoder.encode(arguments[i], StandardCharsets.UTF_8);
            String address = "jdbc:trino://" + arguments[0] + "?user=jdbc&encoding=" + encoding;
            long rows = 0, sum = 0;
            try (Connection connection = DriverManager.getConnection(address);
                    Statement statement = connection.createStatement();
                    ResultSet results = statement.executeQuery("SELECT many")) {
                while (results.next()) {
                    rows++;
                    sum += results.getLong(1);
                }
            }
            System.out.println(arguments[i] + ": " + rows + " rows, sum " + sum);
        }
        // The driver acknowledges its last segment in a thread of its own, which an exit would cut off: whoever reads
        // the lines above says when. Without an exit the driver's HTTP threads keep the JVM for another minute.
        System.in.read();
        System.exit(0);
    }
}
