#include "tests/support/cli.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {

CliResult spillway(const std::vector<std::string>& arguments) {
  const Scratch scratch;
  const std::string out = scratch.path("out");
  const std::string err = scratch.path("err");
  std::vector<char*> argv;
  std::string program = SPILLWAY_BINARY;
  argv.push_back(program.data());
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);

  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto redirect = [](const char* path, int flags, int to) {
      const int fd = open(path, flags, 0600);
      if (fd < 0 || dup2(fd, to) < 0) _exit(126);
    };
    redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    redirect(out.c_str(), O_WRONLY | O_CREAT, STDOUT_FILENO);
    redirect(err.c_str(), O_WRONLY | O_CREAT, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CliResult result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_file(out);
  result.err = read_file(err);
  return result;
}

}  // namespace spillway::test
