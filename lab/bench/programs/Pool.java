import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;

/** A program for benchmarks and tests: a pool of Java with a thread for each processor, checked, with one line of JSON; --count only says what it sized itself by. */
public class Pool {
    static final int LENGTH = 1 << 20, PART = 1 << 14, WARM = 40;

    static long step(long x) {
        for (int i = 0; i < 4; i++) {
            x = (x ^ (x >>> 30)) * 0xbf58476d1ce4e5b9L;
            x ^= x >>> 27;
        }
        return x + 0x9e3779b97f4a7c15L;
    }

    static Callable<Void> part(long[] numbers, int from) {
        return () -> {
            for (int i = from; i < from + PART; i++)
                numbers[i] = step(numbers[i]);
            return null;
        };
    }

    public static void main(String[] arguments) throws Exception {
        int processors = Runtime.getRuntime().availableProcessors();
        if (arguments.length > 0 && arguments[0].equals("--count")) {
            // The common pool has one thread fewer, because whoever asks it works too, but never none.
            System.out.println(processors + " " + ForkJoinPool.commonPool().getParallelism());
            return;
        }
        int reps = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 150;
        long[] numbers = new long[LENGTH];
        List<Callable<Void>> parts = new ArrayList<>();
        for (int i = 0; i < LENGTH; i++)
            numbers[i] = i;
        for (int from = 0; from < LENGTH; from += PART)
            parts.add(part(numbers, from));
        ExecutorService pool = Executors.newFixedThreadPool(processors);
        long begin = 0;
        for (int rep = 0; rep < WARM + reps; rep++) {
            // The first repetitions are those of the interpreter and the compiler.
            if (rep == WARM)
                begin = System.nanoTime();
            pool.invokeAll(parts);
        }
        double wall = (System.nanoTime() - begin) * 1e-9;
        pool.shutdown();
        boolean right = true;
        for (int i = 0; i < LENGTH; i += 10007) {
            long expected = i;
            for (int rep = 0; rep < WARM + reps; rep++)
                expected = step(expected);
            right &= numbers[i] == expected;
        }
        System.out.println(String.format(java.util.Locale.ROOT,
            "{\"name\":\"java\",\"size\":%d,\"reps\":%d,\"wall_s\":%.6f,\"verification\":\"%s\"}",
            LENGTH, reps, wall, right ? "ok" : "FAILED"));
        System.exit(right ? 0 : 1);
    }
}
