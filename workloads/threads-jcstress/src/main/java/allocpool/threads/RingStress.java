package allocpool.threads;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** A ring for many producers and consumers: both take, and give what they took. */
@JCStressTest
@Description("A ring for many producers and consumers: both take, and give what they took.")
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "Each message is in one place.")
@Outcome(expect = Expect.FORBIDDEN, desc = "First number: handed out twice; second: lost.")
@State
public class RingStress extends Contended {
    /** What both threads find. */
    public RingStress() {
        super(new MpmcPool(tiny(), 2, Spacing.APART));
    }

    /** One thread. */
    @Actor
    public void one() {
        of(0).take();
        of(0).give();
        of(0).take();
    }

    /** The other one. */
    @Actor
    public void other() {
        of(1).take();
        of(1).take();
        of(1).give();
    }

    /**
     * When both are done.
     *
     * @param result messages in two places, and in none
     */
    @Arbiter
    public void ends(final II_Result result) {
        counters(result);
    }
}
