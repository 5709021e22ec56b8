package allocpool.threads;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Caches over a depot: one flushes a full cache while the other fills an empty one. */
@JCStressTest
@Description("Caches over a depot: one flushes a full cache while the other fills an empty one.")
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "Each message is in one place.")
@Outcome(expect = Expect.FORBIDDEN, desc = "First number: handed out twice; second: lost.")
@State
public class DepotStress extends Contended {
    /** What both threads find. */
    public DepotStress() {
        super(new CachedPool(tiny(), 2));
        for (int i = 0; i <= CachedPool.FLUSH_AT; i++) {
            of(0).take();
        }
        for (int i = 0; i < CachedPool.FLUSH_AT; i++) {
            of(0).give();
        }
    }

    /** One thread. */
    @Actor
    public void one() {
        of(0).give();
    }

    /** The other one. */
    @Actor
    public void other() {
        of(1).take();
        of(1).take();
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
