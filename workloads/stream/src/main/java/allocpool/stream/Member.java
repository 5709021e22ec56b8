package allocpool.stream;

import com.hazelcast.config.Config;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.config.NetworkConfig;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;

/** A single embedded member: on loopback only, joins no one. */
final class Member {
    /** Short, as it is part of the names of threads, which the system cuts to 15 characters. */
    private static final String NAME = "ap";
    private static final String LOOPBACK = "127.0.0.1";

    private Member() {
    }

    /**
     * Starts it.
     *
     * @param threads cooperative threads
     * @param port to listen at; 0 for a free one
     */
    static HazelcastInstance start(final int threads, final int port) {
        final Config config = new Config();
        config.setClusterName("allocpool");
        config.setInstanceName(NAME);
        config.setProperty("hazelcast.logging.type", "none");
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.setProperty("hazelcast.shutdownhook.enabled", "false");
        config.setProperty("hazelcast.socket.bind.any", "false");
        config.setProperty("hazelcast.local.localAddress", LOOPBACK);
        config.getJetConfig().setEnabled(true).setCooperativeThreadCount(threads);
        final NetworkConfig network = config.getNetworkConfig();
        network.setPort(port).setPortAutoIncrement(false);
        network.getInterfaces().setEnabled(true).addInterface(LOOPBACK);
        final JoinConfig join = network.getJoin();
        join.getAutoDetectionConfig().setEnabled(false);
        join.getMulticastConfig().setEnabled(false);
        join.getTcpIpConfig().setEnabled(false);
        return Hazelcast.newHazelcastInstance(config);
    }
}
