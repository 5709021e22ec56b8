package allocpool.messages;

import java.util.HashMap;
import java.util.Map;

/** What a trial was asked for, as lines of {@code name=value}; C++ reads the same lines. */
final class Settings {
    private final Map<String, String> values = new HashMap<>();

    Settings(final String lines) {
        for (final String line : lines.split("\n")) {
            final int equals = line.indexOf('=');
            if (equals > 0) {
                values.put(line.substring(0, equals), line.substring(equals + 1));
            }
        }
    }

    String text(final String name) {
        final String value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException("the setting " + name + " is missing");
        }
        return value;
    }

    long whole(final String name) {
        return Long.parseLong(text(name));
    }

    int count(final String name) {
        return Math.toIntExact(whole(name));
    }

    double number(final String name) {
        return Double.parseDouble(text(name));
    }

    boolean isOn(final String name) {
        return whole(name) != 0;
    }

    long[] wholes(final String name) {
        final String[] words = text(name).split(",");
        final long[] numbers = new long[words.length];
        for (int i = 0; i < words.length; i++) {
            numbers[i] = Long.parseLong(words[i]);
        }
        return numbers;
    }

    int[] counts(final String name) {
        final long[] numbers = wholes(name);
        final int[] counts = new int[numbers.length];
        for (int i = 0; i < numbers.length; i++) {
            counts[i] = Math.toIntExact(numbers[i]);
        }
        return counts;
    }
}
