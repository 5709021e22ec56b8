package allocpool.allocation;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Arrays, left to the collector. */
final class SizedArrays implements SizedBuffers {
    private static final VarHandle TAG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    @Override
    public Object obtain(final int bytes) {
        final byte[] array = new byte[bytes];
        for (int at = 0; at < bytes; at += Touch.PAGE_BYTES) {
            array[at] = 1;
        }
        return array;
    }

    @Override
    public void setTag(final Object buffer, final long tag) {
        TAG.set((byte[]) buffer, 0, tag);
    }

    @Override
    public long tag(final Object buffer) {
        return (long) TAG.get((byte[]) buffer, 0);
    }

    @Override
    public int bytes(final Object buffer) {
        return ((byte[]) buffer).length;
    }
}
