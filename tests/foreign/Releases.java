// A subscriber that knows nothing of Murmurate but its topic and its schema.
//
//     java -cp 'JARS/*' Releases.java BROKERS TOPIC SCHEMA COUNT
//
// Reads committed records of the topic from its beginning until COUNT of them have come, or none for a while. Each has
// to have the keys that the schema (release.schema.json) requires, those of its inner tables too, and each period of a
// stream has to come once. Prints a line per release: STREAM T SHA-256. Exit 1 with a line for what is wrong.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class Releases {
    private static final long LONGEST_MS = 20_000;
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        String brokers = arguments[0], topic = arguments[1];
        JsonNode schema = JSON.readTree(Path.of(arguments[2]).toFile());
        int count = Integer.parseInt(arguments[3]);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", brokers);
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", "false");
        Set<String> seen = new HashSet<>();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> places = consumer.partitionsFor(topic).stream()
                .map(one -> new TopicPartition(topic, one.partition())).toList();
            consumer.assign(places);
            consumer.seekToBeginning(places);
            long last = System.currentTimeMillis();
            while (seen.size() < count && System.currentTimeMillis() - last < LONGEST_MS) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    last = System.currentTimeMillis();
                    System.out.println(checked(record, schema, seen));
                }
            }
            // Whatever else stands there now, such as a second release of a period, has to come out too.
            var ends = consumer.endOffsets(places);
            while (places.stream().anyMatch(place -> consumer.position(place) < ends.get(place))) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    System.out.println(checked(record, schema, seen));
                }
            }
        }
    }

    private static String checked(ConsumerRecord<byte[], byte[]> record, JsonNode schema, Set<String> seen)
            throws Exception {
        String where = "offset " + record.offset();
        JsonNode release = JSON.readTree(record.value());
        require(release, schema, schema, where);
        String period = release.get("stream").asText() + " " + release.get("t").asLong();
        if (!seen.add(period)) {
            fail(where + ": found period " + period + " a second time");
        }
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(record.value());
        return period + " " + HexFormat.of().formatHex(digest);
    }

    /** The keys that a schema requires, and no key that it does not know, in each table that it describes. */
    private static void require(JsonNode found, JsonNode schema, JsonNode root, String where) {
        if (schema.has("$ref")) {
            String name = schema.get("$ref").asText().substring("#/$defs/".length());
            require(found, root.get("$defs").get(name), root, where);
            return;
        }
        for (JsonNode one : schema.path("anyOf")) { // a table or null
            if (one.has("$ref") && found.isObject()) {
                require(found, one, root, where);
                return;
            }
        }
        if (schema.has("const") && !schema.get("const").equals(found)) {
            fail(where + ": found " + found + " instead of " + schema.get("const"));
        }
        if (!schema.has("properties") || !found.isObject()) {
            return;
        }
        for (JsonNode key : schema.path("required")) {
            if (!found.has(key.asText())) {
                fail(where + ": found no " + key.asText());
            }
        }
        int whole = 0;
        String missing = "";
        for (JsonNode one : schema.path("oneOf")) { // keys that are there together, or not at all
            String first = absent(found, one.path("required"));
            whole += first.isEmpty() ? 1 : 0;
            missing = missing.isEmpty() ? first : missing;
        }
        if (schema.has("oneOf") && whole != 1) {
            fail(where + ": found no " + missing);
        }
        found.fieldNames().forEachRemaining(key -> {
            if (!schema.get("properties").has(key)) {
                fail(where + ": found " + key + ", which the schema does not know");
            }
            require(found.get(key), schema.get("properties").get(key), root, where + ": " + key);
        });
    }

    private static String absent(JsonNode found, JsonNode keys) {
        for (JsonNode key : keys) {
            if (!found.has(key.asText())) {
                return key.asText();
            }
        }
        return "";
    }

    private static void fail(String line) {
        System.err.println(line);
        System.exit(1);
    }
}
