/* An example codec with the stdio codec protocol: it implements the layer `vle` (variable-length integers) and declares that.
 *
 *     javac Codec.java && zconform run 'stdio:java Codec' --only 'vectors/vle/*'
 *
 * The program reads one JSON request per line on standard input and writes one JSON answer per line on standard output; logs belong
 * on standard error. Replace `decode` by your decoder. A real adapter uses a JSON library; the harness uses these field names. */
import java.io.*;
import java.math.BigInteger;
import java.util.HexFormat;
import java.util.regex.*;

public class Codec {
    static final BigInteger LARGEST_NUMBER = BigInteger.ONE.shiftLeft(53);

    static String field(String line, String name) { // the value of a field, or null
        Matcher found = Pattern.compile("\"" + name + "\": *\"?([^\",}]*)").matcher(line);
        return found.find() ? found.group(1) : null;
    }

    /* Seven bits per byte, the lowest first; the ninth byte has eight. */
    static String decode(byte[] bytes) {
        BigInteger value = BigInteger.ZERO;
        for (int at = 0; at < bytes.length; at++) {
            int bits = at == 8 ? bytes[at] & 0xff : bytes[at] & 0x7f;
            value = value.or(BigInteger.valueOf(bits).shiftLeft(7 * at));
            if (at < 8 && bytes[at] < 0) continue; // the highest bit says that more comes
            if (at + 1 < bytes.length) return "\"ok\": false, \"why\": \"trailing\", \"at\": " + (at + 1);
            String quote = value.compareTo(LARGEST_NUMBER) < 0 ? "" : "\""; // many JSON readers have doubles only
            return "\"ok\": true, \"means\": {\"Vle\": {\"value\": " + quote + value + quote + "}}, \"size\": " + (at + 1);
        }
        return "\"ok\": false, \"why\": \"truncated\", \"at\": " + bytes.length;
    }

    static String encode(BigInteger value) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (; out.size() < 8 && value.bitLength() > 7; value = value.shiftRight(7)) out.write(value.intValue() & 0x7f | 0x80);
        out.write(value.intValue());
        return "\"ok\": true, \"bytes\": \"" + HexFormat.of().formatHex(out.toByteArray()) + "\"";
    }

    static String answer(String line, String cmd) {
        if (cmd.equals("start"))
            return "\"ok\": true, \"identity\": {\"name\": \"tiny-java\", \"version\": \"0.1\", \"language\": \"Java\"}, "
                + "\"layers\": [\"vle\"], \"capabilities\": []";
        if (cmd.equals("stop")) return "\"ok\": true";
        if (!"vle".equals(field(line, "layer"))) return "\"ok\": false, \"unimplemented\": true"; // and each capability: claim what you do
        String seq = "\"seq\": " + field(line, "seq") + ", ";
        if (cmd.equals("decode")) return seq + decode(HexFormat.of().parseHex(field(line, "bytes")));
        if (cmd.equals("encode")) return seq + encode(new BigInteger(field(line, "value").trim()));
        return seq + "\"unimplemented\": true";
    }

    public static void main(String[] words) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line, cmd = ""; !cmd.equals("stop") && (line = in.readLine()) != null; System.out.flush()) {
            cmd = String.valueOf(field(line, "cmd"));
            System.out.println("{" + answer(line, cmd) + "}");
        }
    }
}
