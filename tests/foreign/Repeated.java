// A tool of Kafka's, as often as one likes, in one process: to start a Java takes longer than what it is for.
//
//     java -cp 'JARS/*' Repeated.java CLASS < COMMANDS
//
// Each line of the input is one command, its words separated by tabs; in which order they run is not said. A command
// that fails ends the process, with what the tool says and the exit code that it has by itself.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.List;

public class Repeated {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("java.util.concurrent.ForkJoinPool.common.parallelism", "8"); // most of it is waiting
        Method tool = Class.forName(arguments[0]).getMethod("main", String[].class);
        List<String> commands = new BufferedReader(new InputStreamReader(System.in)).lines().toList();
        commands.parallelStream().forEach(command -> {
            try {
                tool.invoke(null, (Object) command.split("\t"));
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(command, error);
            }
        });
    }
}
