package allocpool.threads;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Access to the fields that threads exchange. */
final class Cells {
    private Cells() {
    }

    /** The handle of field {@code value} of {@code holder}. */
    static VarHandle handle(final MethodHandles.Lookup lookup, final Class<?> holder, final Class<?> type) {
        try {
            return lookup.findVarHandle(holder, "value", type);
        } catch (final ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
