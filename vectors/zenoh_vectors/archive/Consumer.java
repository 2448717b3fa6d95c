import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.function.BiFunction;

/**
 * Run the vectors against a codec in Java: {@code java Consumer vectors.tsv MyCodec}.
 *
 * <p>MyCodec implements {@code BiFunction<String, byte[], byte[]>}: it reads all bytes of a layer and writes the message again; it throws
 * for bytes that are no message, and returns null for a layer that it does not implement. Copy this file and change it.
 */
public final class Consumer {
    private static String complaint(BiFunction<String, byte[], byte[]> codec, String layer, String hex, String outcome) {
        byte[] wrote;
        try {
            wrote = codec.apply(layer, HexFormat.of().parseHex(hex));
        } catch (RuntimeException refusal) {
            return outcome.equals("refused") ? null : "refused: " + refusal;
        }
        if (wrote == null) return null;
        if (outcome.equals("refused")) return "accepted, must be refused";
        String again = HexFormat.of().formatHex(wrote);
        return outcome.equals("canonical") && !again.equals(hex) ? "written as " + again : null;
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("Name the vectors and the codec: java Consumer vectors.tsv MyCodec");
            System.exit(2);
        }
        var codec = (BiFunction<String, byte[], byte[]>) Class.forName(arguments[1]).getDeclaredConstructor().newInstance();
        int passed = 0, open = 0, failed = 0;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] cell = line.split("\t", -1);
            if (line.startsWith("#") || cell.length != 5) continue;
            String said = complaint(codec, cell[1], cell[2], cell[3]);
            if (said == null) passed++;
            else if (cell[4].equals("open")) open++;
            else {
                failed++;
                System.out.println("FAIL " + cell[0] + ": " + said);
            }
        }
        System.out.println("pass " + passed + ", open " + open + ", FAIL " + failed);
        System.exit(failed > 0 ? 1 : 0);
    }
}
