/* An example agent: the application above a node, which the harness controls.
 *
 *     javac Agent.java && zconform smoke 'exec:java Agent {locator}?agent=stdio'
 *
 * The program reads one JSON request per line on standard input and writes one JSON answer per line on standard output, with events
 * at any time between them; logs belong on standard error. Replace the body of `Application` by calls of your implementation, with
 * a session to the locator in the arguments; here it receives only its own data. A real agent uses a JSON library. */
import java.io.*;
import java.util.*;
import java.util.regex.*;

public class Agent {
    static final Set<String> COMMANDS = new TreeSet<>(List.of("declare_subscriber", "declare_queryable", "undeclare", "put", "get"));

    /** Stands for a session of your implementation; it receives its own data. */
    static class Application {
        final Map<String, String> subscribers = new LinkedHashMap<>(), queryables = new LinkedHashMap<>();
        final Map<String, List<String>> replies = new HashMap<>();

        void declare_subscriber(Line line) {
            subscribers.put(line.text("id"), line.text("key"));
        }

        void declare_queryable(Line line) {
            queryables.put(line.text("id"), line.text("key"));
            replies.put(line.text("id"), line.every("reply"));
        }

        void undeclare(Line line) {
            subscribers.remove(line.text("id"));
            queryables.remove(line.text("id"));
        }

        void put(Line line) {
            String key = line.text("key"), payload = Objects.requireNonNullElse(line.text("payload"), "");
            subscribers.forEach((id, on) -> {
                if (on.equals(key)) event("sample", id, "key", key, "kind", "put", "payload", payload);
            });
        }

        void get(Line line) {
            String asked = line.text("key");
            queryables.forEach((id, key) -> {
                if (!key.equals(asked)) return;
                event("query", id, "key", key, "parameters", "");
                for (String payload : replies.get(id))
                    event("reply", line.text("id"), "key", key, "kind", "put", "payload", payload);
            });
            event("end", line.text("id"));
        }
    }

    /** Handles one request. */
    record Line(String text) {
        String text(String name) { // the value of a field, or null
            List<String> found = every(name);
            return found.isEmpty() ? null : found.get(0);
        }

        List<String> every(String name) {
            Matcher found = Pattern.compile("\"" + name + "\": *\"?((?:[^\"\\\\,}]|\\\\.)*)").matcher(text);
            List<String> values = new ArrayList<>();
            while (found.find()) values.add(found.group(1));
            return values;
        }
    }

    static synchronized void say(String inside) {
        System.out.println("{" + inside + "}");
        System.out.flush();
    }

    static void event(String what, String id, String... fields) {
        StringBuilder text = new StringBuilder("\"event\": \"" + what + "\", \"id\": \"" + id + "\"");
        for (int at = 0; at < fields.length; at += 2) text.append(", \"" + fields[at] + "\": \"" + fields[at + 1] + "\"");
        say(text.toString());
    }

    static String answer(Application application, Line line, String cmd) {
        if (cmd.equals("start"))
            return "\"ok\": true, \"identity\": {\"name\": \"tiny-java\", \"version\": \"0.1\", \"language\": \"Java\"}, "
                + "\"zid\": null, \"capabilities\": [\"" + String.join("\", \"", COMMANDS) + "\"]";
        boolean known = COMMANDS.contains(cmd.equals("capability") ? line.text("name") : cmd);
        if (cmd.equals("close") || (cmd.equals("capability") && known)) return "\"ok\": true";
        if (!known) return "\"ok\": false, \"unimplemented\": true"; // that is no failure
        try {
            Application.class.getDeclaredMethod(cmd, Line.class).invoke(application, line);
            return "\"ok\": true";
        } catch (ReflectiveOperationException why) {
            return "\"ok\": false, \"why\": \"" + String.valueOf(why.getCause()).replaceAll("[\"\\\\\n]", " ") + "\"";
        }
    }

    public static void main(String[] words) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Application application = new Application();
        String cmd = "";
        for (String text; !cmd.equals("close") && (text = in.readLine()) != null;) {
            Line line = new Line(text);
            cmd = String.valueOf(line.text("cmd"));
            say("\"seq\": " + line.text("seq") + ", " + answer(application, line, cmd));
        }
    }
}
