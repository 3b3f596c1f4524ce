import java.util.concurrent.ForkJoinPool;
import java.util.stream.IntStream;

/** A program for benchmarks and tests: Java's common pool over an array, checked, with one line of JSON; --count only says what it sized itself by. */
public class Pool {
    static final int LENGTH = 1 << 16;

    static long step(long x) {
        for (int i = 0; i < 4; i++) {
            x = (x ^ (x >>> 30)) * 0xbf58476d1ce4e5b9L;
            x ^= x >>> 27;
        }
        return x + 0x9e3779b97f4a7c15L;
    }

    public static void main(String[] arguments) {
        int processors = Runtime.getRuntime().availableProcessors();
        // The common pool has one thread fewer, because whoever asks it works too, but never none.
        int pool = ForkJoinPool.commonPool().getParallelism();
        if (arguments.length > 0 && arguments[0].equals("--count")) {
            System.out.println(processors + " " + pool);
            return;
        }
        int reps = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 150;
        long[] numbers = IntStream.range(0, LENGTH).mapToLong(i -> i).toArray();
        long begin = System.nanoTime();
        for (int rep = 0; rep < reps; rep++)
            IntStream.range(0, LENGTH).parallel().forEach(i -> numbers[i] = step(numbers[i]));
        double wall = (System.nanoTime() - begin) * 1e-9;
        boolean right = true;
        for (int i = 0; i < LENGTH; i += 100) {
            long expected = i;
            for (int rep = 0; rep < reps; rep++)
                expected = step(expected);
            right &= numbers[i] == expected;
        }
        System.out.println(String.format(java.util.Locale.ROOT,
            "{\"name\":\"java\",\"size\":%d,\"reps\":%d,\"wall_s\":%.6f,\"verification\":\"%s\"}",
            LENGTH, reps, wall, right ? "ok" : "FAILED"));
        System.exit(right ? 0 : 1);
    }
}
