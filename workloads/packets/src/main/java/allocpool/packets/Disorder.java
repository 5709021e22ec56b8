package allocpool.packets;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.function.IntToLongFunction;

/**
 * How far apart packets lie in memory that leave the queue one after the other: the mean absolute distance of their
 * addresses, in bytes. Asked for between windows.
 *
 * <p>References are read as numbers by {@code sun.misc.Unsafe}. What one unit of such a number is, 1 byte, 8 of a
 * compressed reference, 2<sup>-13</sup> or less of a coloured one, is found out by objects of a known size that were
 * allocated one after the other; so it holds for any collector, and where it does not fit nothing is reported.
 */
final class Disorder {
    /** What stands for no packet, in place of an address. */
    static final long NONE = Long.MIN_VALUE;

    /** Neighbours that are looked at, at most; they are spread over the whole queue. */
    static final int MOST_PAIRS = 10_000;

    private static final int PROBES = 101;
    private static final int PROBE_BYTES = 1_000;

    /** Headers of an array and what rounds it up. */
    private static final int MOST_OVERHEAD = 40;

    private Disorder() {
    }

    /**
     * The mean over neighbours of the queue, in the order in which it yields them.
     *
     * @param places of the queue
     * @param oldest the place that it yields next
     * @param address of what is in a place, or {@link #NONE}
     * @return NaN where there are no neighbours
     */
    static double mean(final int places, final int oldest, final IntToLongFunction address) {
        final int step = Math.max(1, (places - 1) / MOST_PAIRS);
        double sum = 0;
        int pairs = 0;
        for (int i = 0; i < places - 1 && pairs < MOST_PAIRS; i += step) {
            final long first = address.applyAsLong((int) (((long) oldest + i) % places));
            final long second = address.applyAsLong((int) (((long) oldest + i + 1) % places));
            if (first != NONE && second != NONE) {
                sum += Math.abs(first - second);
                pairs++;
            }
        }
        return pairs == 0 ? Double.NaN : sum / pairs;
    }

    /** The same of objects on the Java heap; also NaN where their addresses can't be had. */
    static double meanOfObjects(final Object[] queue, final int oldest) {
        final double unit = unitBytes();
        if (Double.isNaN(unit)) {
            return unit;
        }
        final double bytes = unit * mean(queue.length, oldest, place -> References.number(queue, place));
        return bytes <= Runtime.getRuntime().maxMemory() ? bytes : Double.NaN;
    }

    private static double unitBytes() {
        final Object[] probes = new Object[PROBES];
        for (int i = 0; i < PROBES; i++) {
            probes[i] = new byte[PROBE_BYTES];
        }
        final long[] apart = new long[PROBES - 1];
        for (int i = 0; i < apart.length; i++) {
            apart[i] = Math.abs(References.number(probes, i + 1) - References.number(probes, i));
        }
        Arrays.sort(apart);
        final double median = apart[apart.length / 2];
        final double unit = Math.pow(2, Math.ceil(Math.log(PROBE_BYTES / median) / Math.log(2)));
        final double size = median * unit;
        return size >= PROBE_BYTES && size <= PROBE_BYTES + MOST_OVERHEAD ? unit : Double.NaN;
    }

    /** References in an array, as numbers. */
    private static final class References {
        private static final MethodHandle GET_INT = handle("getInt", int.class, Object.class, long.class);
        private static final MethodHandle GET_LONG = handle("getLong", long.class, Object.class, long.class);
        private static final long BASE = number(handle("arrayBaseOffset", int.class, Class.class));
        private static final long SCALE = number(handle("arrayIndexScale", int.class, Class.class));

        static long number(final Object[] array, final int index) {
            // Read as a reference first: a collector that corrects references when they are used corrects this one.
            if (array[index] == null) {
                return NONE;
            }
            final long offset = BASE + SCALE * index;
            try {
                return SCALE == Integer.BYTES
                        ? (int) GET_INT.invokeExact((Object) array, offset) & 0xFFFF_FFFFL
                        : (long) GET_LONG.invokeExact((Object) array, offset);
            } catch (final Throwable e) {
                throw new IllegalStateException("A reference could not be read", e);
            }
        }

        private static long number(final MethodHandle ofArrays) {
            try {
                return (int) ofArrays.invokeExact(Object[].class);
            } catch (final Throwable e) {
                throw new IllegalStateException("The shape of arrays could not be read", e);
            }
        }

        /** A method of the class that the compiler warns of, whatever is done about it. */
        private static MethodHandle handle(final String name, final Class<?> returned, final Class<?>... taken) {
            try {
                final Class<?> unsafe = Class.forName("sun.misc.Unsafe");
                final Field field = unsafe.getDeclaredField("theUnsafe");
                field.setAccessible(true);
                return MethodHandles.lookup().findVirtual(unsafe, name, MethodType.methodType(returned, taken))
                        .bindTo(field.get(null));
            } catch (final ReflectiveOperationException e) {
                throw new IllegalStateException("sun.misc.Unsafe has no " + name, e);
            }
        }
    }
}
