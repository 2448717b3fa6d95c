/* An agent around a library whose calls block: replace `Library` by calls of yours.
 *
 *     javac BlockingAgent.java && zconform smoke 'exec:java BlockingAgent {locator}?role=client&agent=stdio'
 *
 * `start` and `capability` are answered at once, since they need no session. A thread opens the session, and runs the commands in
 * order. A command that comes before the session can be used is refused with `not_ready`; the event `ready` tells the harness to ask
 * again. Say `why` whenever something fails: it becomes part of the cause in the report. A real agent uses a JSON library. */
import java.io.*;
import java.net.Socket;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;

public class BlockingAgent {
    static final Set<String> COMMANDS = new TreeSet<>(List.of("declare_subscriber", "declare_queryable", "undeclare", "put", "get"));

    /** A substitute for a real library, which has only its own data; each method may block. */
    static class Library {
        final Map<String, Line> subscribers = new LinkedHashMap<>(), queryables = new LinkedHashMap<>();
        Socket link;

        /** Returns when the session can be used. */
        void open(String locator) throws IOException {
            String[] address = locator.substring(locator.indexOf('/') + 1).split(":");
            link = new Socket(address[0], Integer.parseInt(address[1]));
            if (link.getInputStream().read() < 0) throw new IOException("the link ended");
        }

        void declare_subscriber(Line line) {
            subscribers.put(line.field("id"), line);
        }

        void declare_queryable(Line line) {
            queryables.put(line.field("id"), line);
        }

        void undeclare(Line line) {
            if (subscribers.remove(line.field("id")) == null && queryables.remove(line.field("id")) == null)
                throw new NoSuchElementException("nothing is declared under this id");
        }

        void put(Line line) {
            String key = line.field("key"), payload = Objects.requireNonNullElse(line.field("payload"), "");
            subscribers.forEach((id, one) -> {
                if (one.field("key").equals(key)) event("sample", id, "key", key, "kind", "put", "payload", payload);
            });
        }

        void get(Line line) {
            String asked = line.field("key");
            queryables.forEach((id, one) -> {
                if (!one.field("key").equals(asked)) return;
                event("query", id, "key", asked, "parameters", "");
                for (Line step : one.plan()) {
                    String payload = step.field("reply"); // on the key of the step, or else on the query's own key
                    String key = Objects.requireNonNullElse(step.field("key"), asked);
                    if (payload != null) event("reply", line.field("id"), "key", key, "kind", "put", "payload", payload);
                }
            });
            event("end", line.field("id"));
        }
    }

    /** One request, or one step of a plan. */
    record Line(String text) {
        String field(String name) { // the value of a text or a number, or null
            Matcher found = Pattern.compile("\"" + name + "\": *\"?([^\",}]*)").matcher(text);
            return found.find() ? found.group(1) : null;
        }

        List<Line> plan() {
            int start = text.indexOf("\"plan\"");
            return start < 0 ? List.of() : Pattern.compile("\\{[^}]*}").matcher(text.substring(start)).results()
                .map(step -> new Line(step.group())).toList();
        }
    }

    static synchronized void say(String inside) { // events and answers come from two threads
        System.out.println("{" + inside + "}");
        System.out.flush();
    }

    static void answer(Line line, String rest) {
        say("\"seq\": " + line.field("seq") + ", " + rest);
    }

    static void event(String what, String id, String... fields) {
        StringBuilder text = new StringBuilder("\"event\": \"" + what + "\", \"id\": \"" + id + "\"");
        for (int at = 0; at < fields.length; at += 2) text.append(", \"" + fields[at] + "\": \"" + fields[at + 1] + "\"");
        say(text.toString());
    }

    static volatile boolean ready;

    /** Opens the session, then runs the commands one after the other. */
    static void work(String locator, BlockingQueue<Line> waiting) {
        Library library = new Library();
        try {
            library.open(locator);
            ready = true;
            say("\"event\": \"ready\"");
            while (true) {
                Line line = waiting.take();
                try {
                    Library.class.getDeclaredMethod(line.field("cmd"), Line.class).invoke(library, line);
                    answer(line, "\"ok\": true");
                } catch (ReflectiveOperationException why) {
                    answer(line, "\"ok\": false, \"why\": \"" + String.valueOf(why.getCause()).replaceAll("[\"\\\\\n]", " ") + "\"");
                }
            }
        } catch (IOException | InterruptedException why) {
            System.err.println("no session: " + why);
        }
    }

    public static void main(String[] words) throws IOException { // answers what needs no session, and hands the rest over
        BlockingQueue<Line> waiting = new LinkedBlockingQueue<>();
        Thread worker = new Thread(() -> work(words[0], waiting));
        worker.setDaemon(true);
        worker.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        String cmd = "";
        for (String text; !cmd.equals("close") && (text = in.readLine()) != null;) {
            Line line = new Line(text);
            cmd = line.field("cmd");
            if (cmd.equals("start"))
                answer(line, "\"ok\": true, \"identity\": {\"name\": \"mylibrary\", \"version\": \"1\", \"language\": \"Java\"}, "
                    + "\"zid\": null, \"capabilities\": [\"" + String.join("\", \"", COMMANDS) + "\"]");
            else if (cmd.equals("close") || (cmd.equals("capability") && COMMANDS.contains(line.field("name")))) answer(line, "\"ok\": true");
            else if (!COMMANDS.contains(cmd)) answer(line, "\"ok\": false, \"unimplemented\": true");
            else if (!ready) answer(line, "\"ok\": false, \"why\": \"the session is not open yet\", \"not_ready\": true");
            else waiting.add(line);
        }
    }
}
