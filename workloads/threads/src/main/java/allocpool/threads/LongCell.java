package allocpool.threads;

/** The one number of a {@link PaddedLong}, behind what pads its front. */
abstract class LongCell extends Padded {
    volatile long value;
}
