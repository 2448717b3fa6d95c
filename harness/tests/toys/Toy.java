/* A codec of SCOUT, HELLO, integers and streams of KEEP_ALIVE and FRAGMENT that tells no meaning.  `java Toy N` plants a fault. */
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.charset.*;
import java.util.*;
import java.util.regex.*;

public class Toy {
    static int fault;
    static byte[] in;
    static int at;
    static ByteArrayOutputStream out;

    static class Refused extends RuntimeException {
        static final long serialVersionUID = 1;
        Refused(String why) { super(why); }
    }

    static class NotDone extends RuntimeException { static final long serialVersionUID = 1; }

    static int octet() {
        if (at == in.length) throw new Refused("truncated");
        return in[at++] & 0xff;
    }

    static byte[] bytes(long n) {
        if (n < 0 || n > in.length - at) throw new Refused("truncated");
        return Arrays.copyOfRange(in, at, at += (int) n);
    }

    static long vle() {
        long value = 0;
        for (int n = 0; n < 8; n++) {
            int next = octet();
            value |= (next & 0x7fL) << 7 * n;
            if (next < 0x80) return value;
        }
        return value | (long) octet() << 56;
    }

    static void putVle(long value) {
        int n = 0;
        for (; (fault == 2 || n < 8) && (fault == 3 ? value > 0x7f : value >>> 7 != 0); n++, value >>>= 7) out.write((int) value & 0x7f | 0x80);
        out.write((int) value);
    }

    static void skipExts(int header, boolean strict) {
        while (header >= 0x80) {
            header = octet();
            int enc = header >> 5 & 3;
            if (enc == 3) throw new Refused("extension encoding 3");
            long value = enc == 0 ? 0 : vle();
            if (enc == 2) bytes(value);
            if (strict && (header & 0x10) != 0) throw new Refused("unknown mandatory extension");
        }
    }

    static byte[] zid(int packed) {
        byte[] zid = bytes((packed >> 4) + 1);
        for (byte each : zid) if (each != 0) return zid;
        throw new Refused("a ZenohID of zeros");
    }

    static void scout(int header) {
        int version = octet(), packed = octet();
        byte[] zid = (packed & 8) != 0 ? zid(packed) : new byte[0];
        skipExts(header, false);
        out.write(header & (fault == 10 ? 0x9f : 0x1f));
        out.write(version);
        out.write((packed & 8) != 0 ? packed : packed & 0x0f);
        out.writeBytes(zid);
    }

    static void hello(int header) {
        int version = octet(), packed = octet();
        if ((packed & 3) == 3 && fault != 8) throw new Refused("no such role");
        byte[] zid = zid(packed);
        List<byte[]> locators = new ArrayList<>();
        if ((header & 0x20) != 0) {
            long count = vle();
            for (long n = 0; n != count; n++) {
                long length = vle();
                if (length < 0 || length > 255) throw new Refused("a locator has 255 bytes at most");
                locators.add(utf8(bytes(length)));
            }
        }
        skipExts(header, false);
        out.write(header & (fault == 1 ? 0x1f : 0x3f));
        out.write(version);
        out.write(packed & 0xf3);
        out.writeBytes(zid);
        if ((header & 0x20) == 0) return;
        if (fault == 6 && locators.size() > 1) locators.remove(locators.size() - 1);
        if (fault == 7) out.write(locators.size());
        else putVle(locators.size());
        for (byte[] locator : locators) {
            putVle(locator.length);
            out.writeBytes(locator);
        }
    }

    static byte[] utf8(byte[] text) {
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text));
        } catch (CharacterCodingException bad) {
            throw new Refused("no UTF-8");
        }
        return text;
    }

    static void batch() { // FRAGMENT takes the rest of its batch
        int header = octet();
        if (header == 4) {
            out.write(header);
        } else if (header == 6 || header == 0x26 || header == 0x46 || header == 0x66) {
            out.write(header);
            putVle(vle() & 0xffffffffL);
            out.writeBytes(bytes(in.length - at));
        } else {
            throw new NotDone();
        }
    }

    static void stream() {
        byte[] all = in;
        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        for (int begin = 0; begin < all.length; begin += at) {
            if (begin + 2 > all.length) throw new Refused("truncated");
            int low = all[begin] & 0xff, high = all[begin + 1] & 0xff, length = fault == 5 ? low << 8 | high : high << 8 | low;
            begin += 2;
            if (begin + length > all.length) throw new Refused("truncated");
            in = Arrays.copyOfRange(all, begin, begin + length);
            at = 0;
            out = new ByteArrayOutputStream();
            while (at < in.length) batch();
            stream.write(fault == 4 ? out.size() >> 8 : out.size());
            stream.write(fault == 4 ? out.size() : out.size() >> 8);
            stream.writeBytes(out.toByteArray());
        }
        in = all;
        at = in.length;
        out = stream;
    }

    static String decode(String layer, byte[] bytes) {
        in = bytes;
        at = 0;
        out = new ByteArrayOutputStream();
        try {
            if (layer.equals("vle")) {
                putVle(vle());
            } else if (layer.equals("stream")) {
                stream();
            } else {
                int header = octet();
                if ((header & 0x1f) == 1) scout(header);
                else if ((header & 0x1f) == 2) hello(header);
                else throw new Refused("neither SCOUT nor HELLO");
            }
        } catch (Refused bad) {
            return "\"ok\": false, \"why\": \"" + bad.getMessage() + "\", \"at\": " + at;
        } catch (NotDone other) {
            return "\"unimplemented\": true, \"why\": \"not this message\"";
        }
        int size = fault == 9 ? in.length : at;
        return "\"ok\": true, \"means\": null, \"size\": " + size + ", \"encoded\": \"" + HexFormat.of().formatHex(out.toByteArray()) + "\"";
    }

    static String field(String line, String name) {
        Matcher found = Pattern.compile("\"" + name + "\": *\"?([^\",}]*)").matcher(line);
        return found.find() ? found.group(1) : "";
    }

    static String answer(String line) {
        String cmd = field(line, "cmd"), seq = "\"seq\": " + field(line, "seq") + ", ";
        if (cmd.equals("start"))
            return "\"ok\": true, \"identity\": {\"name\": \"toy-java\", \"version\": \"1\", \"language\": \"Java\"}, "
                + "\"layers\": [\"scouting\", \"vle\", \"stream\"], \"capabilities\": []";
        if (cmd.equals("stop")) return "\"ok\": true";
        if (cmd.equals("capability")) return "\"ok\": false, \"unimplemented\": true";
        if (!cmd.equals("decode")) return seq + "\"unimplemented\": true, \"why\": \"it only decodes\"";
        return seq + decode(field(line, "layer"), HexFormat.of().parseHex(field(line, "bytes")));
    }

    public static void main(String[] words) throws IOException {
        fault = words.length > 0 ? Integer.parseInt(words[0]) : 0;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; System.out.flush()) {
            System.out.println("{" + answer(line) + "}");
            if (line.contains("\"stop\"")) return;
        }
    }
}
