package allocpool.threads;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** A tagged stack: one takes, gives and takes while the other takes two and gives the first back. */
@JCStressTest
@Description("A tagged stack: one takes, gives and takes while the other takes two and gives the first back.")
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "Each message is in one place.")
@Outcome(expect = Expect.FORBIDDEN, desc = "First number: handed out twice; second: lost.")
@State
public class StackStress extends Contended {
    /** What both threads find. */
    public StackStress() {
        super(new StackPool(tiny(), 3));
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
