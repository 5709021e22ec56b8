package allocpool.threads;

/** The one reference of a {@link PaddedLink}, behind what pads its front. */
abstract class LinkCell extends Padded {
    volatile Message value;
}
