package allocpool.packets;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** Turns what a user wrote into a constant, and says which there are when there is no such one. */
final class Names {
    private Names() {
    }

    static <E extends Enum<E>> E constant(final Class<E> type, final String what, final String name) {
        for (final E constant : type.getEnumConstants()) {
            if (of(constant).equals(name)) {
                return constant;
            }
        }
        final String choices = Arrays.stream(type.getEnumConstants()).map(Names::of)
                .collect(Collectors.joining(", "));
        throw new IllegalArgumentException("unknown " + what + " '" + name + "', choose one of: " + choices);
    }

    /** The name of a constant as users write it. */
    static String of(final Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
