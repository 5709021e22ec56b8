package allocpool.threads;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Lists of owners: one takes back all its returns while the other hangs a batch into them. */
@JCStressTest
@Description("Lists of owners: one takes back all its returns while the other hangs a batch into them.")
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "Each message is in one place.")
@Outcome(expect = Expect.FORBIDDEN, desc = "First number: handed out twice; second: lost.")
@State
public class OwnerTakeStress extends Contended {
    /** What both threads find. */
    public OwnerTakeStress() {
        super(new OwnerPool(tiny(), 0, USERS, false, Spacing.APART));
        for (int i = 0; i < OwnerPool.BATCH; i++) {
            of(0).take();
            of(1).receiveFrom(of(0));
        }
        for (int i = 1; i < OwnerPool.BATCH; i++) {
            of(1).give();
        }
    }

    /** One thread. */
    @Actor
    public void one() {
        of(0).take();
        of(0).take();
    }

    /** The other one. */
    @Actor
    public void other() {
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
