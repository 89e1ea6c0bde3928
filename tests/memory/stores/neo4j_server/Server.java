import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.Set;
import org.neo4j.configuration.Config;
import org.neo4j.configuration.GraphDatabaseInternalSettings;
import org.neo4j.configuration.GraphDatabaseInternalSettings.CypherExpressionEngine;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.ConnectorPortRegister;
import org.neo4j.configuration.connectors.ConnectorType;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.io.ByteUnit;
import org.neo4j.kernel.internal.GraphDatabaseAPI;

/**
 * A Neo4j in the folder that is named: Bolt alone, on a free port of the loopback, nobody is asked for a password. It prints its address,
 * does what its standard input says (read-only, writable) and answers each line, and ends when that ends.
 */
class Server {
    public static void main(String[] arguments) throws Exception {
        var server = new DatabaseManagementServiceBuilder(Path.of(arguments[0]))
                .setConfig(BoltConnector.enabled, true)
                .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", 0))
                .setConfig(GraphDatabaseSettings.auth_enabled, false)
                .setConfig(GraphDatabaseSettings.pagecache_memory, ByteUnit.mebiBytes(64))
                // A query is planned once for all lengths of its lists, and nothing of it is compiled: most run a few times.
                .setConfig(GraphDatabaseInternalSettings.cypher_size_hint_parameters, false)
                .setConfig(GraphDatabaseInternalSettings.cypher_expression_engine, CypherExpressionEngine.INTERPRETED)
                .build();
        try {
            var parts = ((GraphDatabaseAPI) server.database("neo4j")).getDependencyResolver();
            var ports = parts.resolveDependency(ConnectorPortRegister.class);
            System.out.println("bolt://127.0.0.1:" + ports.getLocalAddress(ConnectorType.BOLT).getPort());
            var said = new BufferedReader(new InputStreamReader(System.in));
            for (var line = said.readLine(); line != null; line = said.readLine()) {
                Set<String> readOnly = line.equals("read-only") ? Set.of("neo4j") : Set.of();
                parts.resolveDependency(Config.class).setDynamic(GraphDatabaseSettings.read_only_databases, readOnly, "Server");
                System.out.println(line);
            }
        } finally {
            server.shutdown();
        }
    }
}
